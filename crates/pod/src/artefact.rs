//! Fetching gated programs, and trusting only those that the hive signed for this project.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use racewarden_proto::{BuildInfo, artefact_message};
use ring::{digest, signature};

use crate::{ClientError, Enrolment, HiveClient};

#[derive(Debug, thiserror::Error)]
pub enum ArtefactError {
    #[error(transparent)]
    Hive(#[from] ClientError),
    #[error("the artefact of build {build} is not signed by this project's hive; not running it")]
    Signature { build: String },
    #[error("the artefact of build {build} was changed on its way; not running it")]
    Content { build: String },
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

/// Checks the signature over project, build and content hash.
pub fn verify(info: &BuildInfo, enrolment: &Enrolment) -> Result<(), ArtefactError> {
    let message = artefact_message(&enrolment.project, &info.name, &info.sha256);
    let checked =
        unhex(&enrolment.public_key).zip(unhex(&info.signature)).is_some_and(|(key, signature)| {
            let key = signature::UnparsedPublicKey::new(&signature::ED25519, key);
            key.verify(&message, &signature).is_ok()
        });
    if checked { Ok(()) } else { Err(ArtefactError::Signature { build: info.name.clone() }) }
}

/// The verified artefact as an executable file, downloaded when it is not there yet.
///
/// A file that is there is checked again each time: what was verified once may have been changed
/// since.
pub fn fetch(
    client: &HiveClient,
    enrolment: &Enrolment,
    info: &BuildInfo,
    folder: &Path,
) -> Result<PathBuf, ArtefactError> {
    verify(info, enrolment)?;
    let path = folder.join(&info.sha256);
    let io = |source| ArtefactError::Io { path: path.clone(), source };
    if let Ok(bytes) = fs::read(&path)
        && sha256(&bytes) == info.sha256
    {
        return Ok(path);
    }
    let bytes = client.artefact(&info.name)?;
    if sha256(&bytes) != info.sha256 {
        return Err(ArtefactError::Content { build: info.name.clone() });
    }
    fs::create_dir_all(folder).map_err(io)?;
    let partial = folder.join(format!("{}.{}", info.sha256, std::process::id()));
    fs::write(&partial, &bytes).map_err(io)?;
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o700)).map_err(io)?;
    fs::rename(&partial, &path).map_err(io)?;
    Ok(path)
}

fn sha256(bytes: &[u8]) -> String {
    let hash = digest::digest(&digest::SHA256, bytes);
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::rand::SystemRandom;
    use ring::signature::{Ed25519KeyPair, KeyPair};

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn only_this_project_build_and_content_verify() {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let key = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let enrolment = Enrolment {
            hive: String::new(),
            project: "app".into(),
            token: String::new(),
            public_key: hex(key.public_key().as_ref()),
            sending: false,
            authority: None,
        };
        let content = sha256(b"program");
        let signature = hex(key.sign(&artefact_message("app", "1.0", &content)).as_ref());
        let info = BuildInfo {
            project: "app".into(),
            name: "1.0".into(),
            sha256: content,
            size: 7,
            signature,
        };
        assert!(verify(&info, &enrolment).is_ok());
        let tampered = [
            BuildInfo { name: "0.9".into(), ..info.clone() },
            BuildInfo { sha256: sha256(b"other"), ..info.clone() },
            BuildInfo { signature: "zz".into(), ..info.clone() },
        ];
        assert!(tampered.iter().all(|info| verify(info, &enrolment).is_err()));
        let elsewhere = Enrolment { project: "other".into(), ..enrolment };
        assert!(verify(&info, &elsewhere).is_err());
    }
}
