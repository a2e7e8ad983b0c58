//! The recordings of `diskarm serve`.

use diskarm_results::output_file::{Files, PartialFile};
use diskarm_serve::{Export, ExportFigures, Recorder, Setting, Tapped};
use diskarm_simulate::{BlockConverter, System};

use crate::error::Error;

/// A trace that is being recorded.
pub struct Recording {
    part: PartialFile,
    recorder: Recorder,
}

/// Begins the recording that `setting` asks for, if it does, in `format`; returns the export, whose
/// device is watched then. Inputs of the command are among `files`.
pub fn begin<D: Tapped + 'static>(
    setting: &Setting,
    mut export: Export<D>,
    format: &str,
    files: &mut Files,
) -> Result<(Export<D>, Option<Recording>), Error> {
    let Some(path) = &setting.record else {
        return Ok((export, None));
    };
    let Some(mut timing) = export.timing else {
        let expected = "no --instant, without which there is no drive that answers";
        return Err(Error::flag("--record", path, expected));
    };
    let system = setting.system()?;
    let blocks = BlockConverter::new(system.disk(), &system.name)?;
    let part = files.output("--record", path)?.begin()?;
    let file = part.file().try_clone();
    let file = file.map_err(|source| part.failed(source))?;
    let (recorder, tap) = Recorder::start(file, path, format, blocks)?;
    let again = tap.clone();
    export.power = export.power.map(|power| power.watched(again));
    timing.device = timing.device.tapped(tap);
    export.timing = Some(timing);
    Ok((export, Some(Recording { part, recorder })))
}

/// The files that `settings` have the command read.
pub fn inputs(settings: &[Setting]) -> Result<Files, Error> {
    let mut files = Files::default();
    for setting in settings {
        let system = System::parse(&setting.drive)?;
        files = files.reading("--drive", system.drive_name());
        for other in system.others() {
            files = files.reading("--drive", &other.name);
        }
        if let Some(path) = setting.store.path() {
            files = files.reading_file("--store", path);
        }
    }
    Ok(files)
}

/// Ends `recordings`, whose devices are gone: their files get their names, and the figures of each
/// export say what is in them. One without requests does not replace an earlier file.
pub fn finish(
    recordings: Vec<Option<Recording>>,
    exports: &mut [ExportFigures],
) -> Result<(), Error> {
    let mut ended = Ok(());
    for (recording, figures) in recordings.into_iter().zip(exports) {
        let finished = recording.map(|Recording { part, recorder }| {
            let mut recorded = recorder.finish()?;
            recorded.add_requests(&figures.counts);
            if recorded.requests == 0 && part.replaces() {
                let note = "there was nothing to record: the file is as it was before";
                recorded.notes.push(note.to_owned());
            } else {
                part.finish()?;
            }
            Ok(recorded)
        });
        match finished.transpose() {
            Ok(recorded) => figures.recording = recorded,
            Err(error) => ended = ended.and(Err(error)),
        }
    }
    ended
}
