//! Authorities and certificates for a test.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

/// An authority that issues certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub struct Issued {
    pub certificate: String,
    pub key: String,
}

fn certificate_params(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(hosts).expect("names of hosts");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Authority {
    pub fn new() -> Self {
        let mut params = certificate_params("authority", &[]);
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
        let params = certificate_params(name, &["localhost", "127.0.0.1"]);
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// A folder with its certificate and one for each of `sides`, under the file names of NBD.
    pub fn folder(&self, sides: &[&str]) -> TempDir {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path();
        fs::write(path.join("ca-cert.pem"), self.certificate()).expect("a file");
        for side in sides {
            let issued = self.issue(side);
            for (what, text) in [("cert", issued.certificate), ("key", issued.key)] {
                fs::write(path.join(format!("{side}-{what}.pem")), text).expect("a file");
            }
        }
        folder
    }
}
