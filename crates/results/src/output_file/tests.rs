use super::*;

#[test]
fn two_outputs_cannot_be_the_same_file() {
    let mut files = Files::default().with_input("--drive", "hp-c2247");
    let mut error_of = |flag, path| files.output(flag, path).err().map(|e| e.to_string());
    let error = "--b: found \"./no-such.csv\", expected a different file from --a \
                 \"no-such.csv\", which is also written";
    assert_eq!(error_of("--a", "no-such.csv"), None);
    assert_eq!(error_of("--b", "./no-such.csv").as_deref(), Some(error));
    assert_eq!(error_of("--b", "no-such-2.csv"), None);
    // The name of a drive in the catalogue is not a file.
    assert_eq!(error_of("--c", "hp-c2247"), None);
}

#[test]
fn an_abandoned_output_leaves_the_earlier_file() {
    let path = std::env::temp_dir().join(format!("diskarm-{}-kept", std::process::id()));
    let output = || Files::default().output("--a", &path).unwrap();
    let part = || output().create().unwrap();
    assert!(!part().replaces());
    fs::write(&path, "").unwrap();
    assert!(!part().replaces());
    fs::write(&path, "earlier").unwrap();
    let abandoned = part();
    (&abandoned.file).write_all(b"later").unwrap();
    assert!(abandoned.replaces());
    drop(abandoned);
    assert_eq!(fs::read(&path).unwrap(), b"earlier");
    fs::remove_file(&path).unwrap();
}

/// A folder that is removed at the end of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("diskarm-output-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn output(path: &Path) -> OutputFile {
    Files::default().output("--a", path).unwrap()
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_permissions_and_owner() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let folder = Folder::new("mode");
    let (path, plain) = (folder.path("rows.csv"), folder.path("plain"));
    fs::write(&plain, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
    output(&path).write(b"new").unwrap();
    assert_eq!(mode(&path), mode(&plain));
    // Only root can give files away.
    let is_root = chown(&path, Some(12), Some(34)).is_ok();
    for expected in [0o600, 0o444, 0o664] {
        fs::set_permissions(&path, fs::Permissions::from_mode(expected)).unwrap();
        for create in [OutputFile::create, OutputFile::create_named] {
            let part = create(output(&path)).unwrap();
            (&part.file).write_all(b"later").unwrap();
            part.finish().unwrap();
            assert_eq!(mode(&path), expected, "{expected:o}");
            let found = fs::metadata(&path).unwrap();
            assert!(!is_root || (found.uid(), found.gid()) == (12, 34));
        }
    }
}

#[cfg(unix)]
#[test]
fn the_file_behind_a_link_is_replaced_whole() {
    use std::os::unix::fs::symlink;
    let (folder, other) = (Folder::new("link"), Folder::new("behind"));
    let (link, second) = (folder.path("link"), other.path("second"));
    let target = other.path("target");
    symlink(&second, &link).unwrap();
    symlink("target", &second).unwrap();
    // At first, the links lead nowhere.
    for text in ["earlier", "later"] {
        let part = output(&link).create().unwrap();
        (&part.file).write_all(text.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(&target).is_ok(), text == "later");
        part.finish().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), text);
    }
    drop(output(&link).create().unwrap());
    assert_eq!(fs::read_to_string(&target).unwrap(), "later");
    assert!(link.is_symlink() && second.is_symlink() && !target.is_symlink());
    assert_eq!(folder.names(), ["link"]);
    assert_eq!(other.names(), ["second", "target"]);
    // A link without a file, and its target, are one output.
    fs::remove_file(&target).unwrap();
    let mut files = Files::default();
    files.output("--a", &target).unwrap();
    assert!(files.output("--b", &link).is_err());
    // A loop is an error.
    symlink(&link, &target).unwrap();
    assert!(output(&link).create().is_err());
}

/// `/dev/stdout` is such a link.
#[cfg(target_os = "linux")]
#[test]
fn open_files_and_devices_are_written_directly() {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, symlink};
    let folder = Folder::new("open");
    let (path, link) = (folder.path("out"), folder.path("link"));
    let open = File::create(&path).unwrap();
    let handle = format!("/proc/self/fd/{}", open.as_raw_fd());
    symlink(&handle, &link).unwrap();
    for (name, text) in [(Path::new(&handle), "earlier"), (&link, "later")] {
        output(name).write(text.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let inode = |metadata: io::Result<Metadata>| metadata.unwrap().ino();
        assert_eq!(inode(fs::metadata(&path)), inode(open.metadata()));
    }
    fs::remove_file(&link).unwrap();
    symlink("/dev/null", &link).unwrap();
    output(&link).write(b"nothing").unwrap();
    assert_eq!(fs::metadata(&link).unwrap().len(), 0);
    assert_eq!(folder.names(), ["link", "out"]);
}

#[test]
fn files_with_temporary_names_are_left_alone() {
    let folder = Folder::new("mine");
    let (path, id) = (folder.path("X"), std::process::id());
    let mine = [id - 1, id, id + 1, 2024].map(|number| format!("X.{number}.part"));
    for name in &mine {
        fs::write(folder.path(name), "mine").unwrap();
    }
    for create in [OutputFile::create, OutputFile::create_named] {
        let part = create(output(&path)).unwrap();
        (&part.file).write_all(b"ours").unwrap();
        part.finish().unwrap();
        drop(create(output(&path)).unwrap());
    }
    for name in &mine {
        assert_eq!(fs::read_to_string(folder.path(name)).unwrap(), "mine");
    }
    assert_eq!(folder.names().len(), 5);
}

#[test]
fn an_incomplete_file_has_a_name_only_if_it_should() {
    let folder = Folder::new("named");
    let path = folder.path(&"x".repeat(255));
    if create_unnamed(&folder.0).is_ok() {
        let part = output(&path).create().unwrap();
        assert!(folder.names().is_empty());
        part.finish().unwrap();
        output(&path).write(b"again").unwrap();
        assert_eq!(folder.names().len(), 1);
    }
    assert!(output(&folder.path(&"x".repeat(256))).create().is_err());
    let part = output(&folder.path("y")).create_named().unwrap();
    (&part.file).write_all(b"rows").unwrap();
    let kept = part.keep().unwrap();
    assert_eq!(kept, folder.path(&format!("y.{}.part", std::process::id())));
    assert_eq!(fs::read_to_string(kept).unwrap(), "rows");
}
