//! Authorities and certificates for a test.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

/// An authority that issues certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub struct IssuedCertificate {
    pub certificate: String,
    pub key: String,
}

fn certificate_params(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(hosts).expect("host names");
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

    /// Returns the authority's own certificate, in PEM.
    pub fn certificate(&self) -> String {
        self.0.pem()
    }

    /// Issues a certificate for this machine.
    pub fn issue(&self, name: &str) -> IssuedCertificate {
        let key = KeyPair::generate().expect("a key");
        let params = certificate_params(name, &["localhost", "127.0.0.1"]);
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        IssuedCertificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// Creates a folder with its certificate and one for each of `sides`, named as for NBD.
    pub fn folder(&self, sides: &[&str]) -> TempDir {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path();
        fs::write(path.join("ca-cert.pem"), self.certificate()).expect("a file");
        for side in sides {
            let issued = self.issue(side);
            for (kind, text) in [("cert", issued.certificate), ("key", issued.key)] {
                let path = path.join(format!("{side}-{kind}.pem"));
                fs::write(&path, text).expect("a file");
                fs::set_permissions(path, Permissions::from_mode(0o600)).expect("a file");
            }
        }
        folder
    }
}
