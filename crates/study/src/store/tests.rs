use super::*;
use crate::output::Files;

/// A folder that is removed at the end of a test.
struct TestFolder {
    path: PathBuf,
    runs: PathBuf,
}

impl TestFolder {
    fn new(name: &str) -> Self {
        let name = format!("diskarm-store-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let runs = path.join(RUNS);
        Self { path, runs }
    }

    fn open(&self) -> Result<Store, StudyError> {
        Store::open(&Folder::new(&self.path, "folder", Files::default())?)
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.runs).unwrap()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn key_of(name: &str) -> String {
    format!("{}-{name}", BUILD)
}

fn run(key: &str, figure: f64) -> StoredRun {
    StoredRun {
        key: key_of(key),
        figures: Some(vec![Some(figure), None]),
    }
}

#[test]
fn a_truncated_store_keeps_all_complete_lines() {
    let folder = TestFolder::new("cut");
    let mut store = folder.open().unwrap();
    // Numbers that need all of their digits.
    let runs = [run("a", 0.1 + 0.2), run("b", 1e300), run("c", -5e-324)];
    runs.iter().for_each(|run| store.keep(run).unwrap());
    drop(store);
    let whole = fs::read(&folder.runs).unwrap();
    for length in 0..=whole.len() {
        fs::write(&folder.runs, &whole[..length]).unwrap();
        let bytes = whole[..length].iter();
        let lines = bytes.filter(|byte| **byte == b'\n').count();
        let store = folder.open().unwrap();
        let kept = runs[..lines.saturating_sub(1)].iter();
        let kept = kept.map(|run| (run.key.clone(), run.figures.clone()));
        assert_eq!(*store.known_runs(), kept.collect(), "{length}");
    }
}

/// A device such as `/dev/zero` could be read forever.
#[cfg(unix)]
#[test]
fn a_store_that_is_a_device_is_refused() {
    let folder = TestFolder::new("device");
    std::os::unix::fs::symlink("/dev/null", &folder.runs).unwrap();
    let error = folder.open().err().expect("refused").to_string();
    let expected = "runs.jsonl: cannot read: found a device or a pipe, expected a file";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_head_without_its_line_end_is_written_again() {
    let folder = TestFolder::new("head");
    // This head is valid, but not a prefix of the one that the program writes.
    fs::write(&folder.runs, format!("\t{}", head().trim_end())).unwrap();
    folder.open().unwrap().keep(&run("a", 1.0)).unwrap();
    let text = folder.text();
    assert_eq!(text, head() + &line(&run("a", 1.0)));
}

#[test]
fn a_folder_has_one_process_and_one_version() {
    let folder = TestFolder::new("busy");
    let store = folder.open().unwrap();
    assert!(matches!(folder.open(), Err(StudyError::Busy(_))));
    drop(store);
    fs::write(&folder.runs, "{\"version\":\"0.0.1\"}\n").unwrap();
    let error = folder.open().err().unwrap().to_string();
    assert!(error.contains("version: found \"0.0.1\""), "{error}");
    for other in ["my notes, not ended", "{\"version\":\"0.0.1\"}\npart"] {
        fs::write(&folder.runs, other).unwrap();
        folder.open().err().unwrap();
        assert_eq!(folder.text(), other);
    }
    fs::write(&folder.runs, "nonsense\n").unwrap();
    let error = folder.open().err().unwrap().to_string();
    let expected = "runs.jsonl:1: found something else (";
    assert!(error.contains(expected), "{error}");
}

/// If a bit of a line is changed, only its run is ignored. A changed line end also damages the
/// next line.
#[test]
fn a_changed_run_is_ignored() {
    let folder = TestFolder::new("damaged");
    let mut store = folder.open().unwrap();
    for name in ["a", "b", "c"] {
        store.keep(&run(name, 12.5)).unwrap();
    }
    drop(store);
    let whole = fs::read(&folder.runs).unwrap();
    let size = line(&run("a", 12.5)).len();
    let second = head().len() + size;
    for at in second..second + size {
        for bit in [0, 3, 7] {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            fs::write(&folder.runs, &changed).unwrap();
            let store = folder.open().unwrap();
            let known: Vec<&String> = store.known_runs().keys().collect();
            let is_end = at == second + size - 1;
            let kept = if is_end { &["a"][..] } else { &["a", "c"] };
            let kept: Vec<String> = kept.iter().map(|name| key_of(name)).collect();
            assert!(known.into_iter().eq(&kept), "byte {at}, bit {bit}");
            let warning = store.damage().unwrap();
            assert!(warning.contains("runs.jsonl:3: damaged line"), "{warning}");
        }
    }
    fs::write(&folder.runs, head() + "nonsense\n\n{}\n").unwrap();
    let mut store = folder.open().unwrap();
    let warning = store.damage().unwrap();
    let expected = "runs.jsonl:2: this and 2 other lines are damaged: their runs are ignored";
    assert!(warning.ends_with(expected), "{warning}");
    store.put_in_order(&[]).unwrap();
    assert_eq!(store.damage(), None);
    assert_eq!(folder.text(), head());
}

#[test]
fn runs_without_a_checksum_are_those_of_earlier_builds() {
    let folder = TestFolder::new("earlier");
    drop(folder.open().unwrap());
    let earlier = "{\"key\":\"0123-a\",\"figures\":[12.5,null]}\n";
    fs::write(&folder.runs, head() + earlier).unwrap();
    let store = folder.open().unwrap();
    assert_eq!((store.foreign_count(), store.damage()), (1, None));
    drop(store);
    // This line is from the present build, but has lost its checksum.
    let own = earlier.replace("0123-a", &key_of("a"));
    fs::write(&folder.runs, head() + &own).unwrap();
    let store = folder.open().unwrap();
    assert!(store.known_runs().is_empty() && store.damage().is_some());
}

#[test]
fn the_file_does_not_depend_on_the_order_of_runs() {
    let keys = ["b", "a"].map(key_of);
    let mut texts = Vec::new();
    for order in [["a", "b", "x"], ["x", "b", "a"]] {
        let folder = TestFolder::new("order");
        let mut store = folder.open().unwrap();
        for key in order {
            store.keep(&run(key, 1.0)).unwrap();
        }
        store.put_in_order(&keys).unwrap();
        texts.push(folder.text());
        // Later runs are appended.
        store.keep(&run("y", 2.0)).unwrap();
        let text = folder.text();
        assert_eq!(text, texts[0].clone() + &line(&run("y", 2.0)));
    }
    assert_eq!(texts[0], texts[1]);
    let expected = ["b", "a", "x"].map(|key| line(&run(key, 1.0))).concat();
    assert_eq!(texts[0], head() + &expected);
}

#[test]
fn runs_of_another_build_are_ignored_and_then_removed() {
    let folder = TestFolder::new("foreign");
    let mut store = folder.open().unwrap();
    store.keep(&run("a", 1.0)).unwrap();
    let mut other = run("b", 1.0);
    other.key = "0123456789abcdef-b".to_owned();
    store.keep(&other).unwrap();
    drop(store);
    let mut store = folder.open().unwrap();
    assert_eq!(store.foreign_count(), 1);
    let known: Vec<&String> = store.known_runs().keys().collect();
    assert_eq!(known, [&key_of("a")]);
    store.put_in_order(&[key_of("a")]).unwrap();
    let text = folder.text();
    assert_eq!(text, head() + &line(&run("a", 1.0)));
}
