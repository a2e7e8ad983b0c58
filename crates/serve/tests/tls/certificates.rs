//! Authorities and certificates, made for a test.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// An authority that issues certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub struct Issued {
    pub certificate: String,
    pub key: String,
}

fn named(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(hosts).expect("names of hosts");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Authority {
    pub fn new() -> Self {
        let mut params = named("authority", &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// Its own certificate, in PEM.
    pub fn certificate(&self) -> String {
        self.0.pem()
    }

    /// A certificate for this machine.
    pub fn issue(&self, name: &str) -> Issued {
        let key = KeyPair::generate().expect("a key");
        let params = named(name, &["localhost", "127.0.0.1"]);
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// A folder with its certificate, and one of each of `sides`, as clients and servers of NBD
    /// call them.
    pub fn folder(&self, name: &str, sides: &[&str]) -> Folder {
        let name = format!("diskarm-{}-tls-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        fs::write(path.join("ca-cert.pem"), self.certificate()).expect("a file");
        for side in sides {
            let issued = self.issue(side);
            for (what, text) in [("cert", issued.certificate), ("key", issued.key)] {
                fs::write(path.join(format!("{side}-{what}.pem")), text).expect("a file");
            }
        }
        Folder(path)
    }
}

/// A folder, which is removed in the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
