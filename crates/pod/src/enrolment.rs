//! What a pod knows of its hive, in a file that only its user can read.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One project on one hive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enrolment {
    /// `https://hive.example:8443`
    pub hive: String,
    pub project: String,
    pub token: String,
    /// The hive's Ed25519 key, hex; artefacts signed by another are refused.
    pub public_key: String,
    /// Whether reports may be sent. Without it the pod still runs the program, and that is all.
    pub sending: bool,
    /// The certificate authority of a hive that no public authority vouches for, as PEM.
    #[serde(default)]
    pub authority: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum EnrolmentError {
    #[error("{project} is not enrolled; `racewarden pod enrol` does that")]
    Unknown { project: String },
    #[error("`{0}` is not a project's name")]
    Name(String),
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: not an enrolment: {message}", path = .path.display())]
    Format { path: PathBuf, message: String },
}

/// The pod's own folder: enrolments, artefacts, spool.
#[derive(Debug, Clone)]
pub struct Home {
    pub folder: PathBuf,
}

impl Home {
    /// `RACEWARDEN_POD_HOME`, else the user's data folder.
    pub fn find() -> Home {
        let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = match (from("RACEWARDEN_POD_HOME"), from("XDG_DATA_HOME"), from("HOME")) {
            (Some(home), _, _) => PathBuf::from(home),
            (None, Some(data), _) => PathBuf::from(data).join("racewarden/pod"),
            (None, None, Some(home)) => PathBuf::from(home).join(".local/share/racewarden/pod"),
            (None, None, None) => std::env::temp_dir().join("racewarden-pod"),
        };
        Home { folder }
    }

    pub fn save(&self, enrolment: &Enrolment) -> Result<(), EnrolmentError> {
        let path = self.enrolment_path(&enrolment.project)?;
        let text = serde_json::to_string_pretty(enrolment).unwrap_or_default();
        let write = || -> std::io::Result<()> {
            let parent = path.parent().unwrap_or(Path::new("."));
            fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            let partial = path.with_extension("partial");
            let mut file = fs::OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&partial)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&partial, &path)
        };
        write().map_err(|source| EnrolmentError::Io { path: path.clone(), source })
    }

    pub fn load(&self, project: &str) -> Result<Enrolment, EnrolmentError> {
        let path = self.enrolment_path(project)?;
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(EnrolmentError::Unknown { project: project.to_owned() });
            }
            Err(source) => return Err(EnrolmentError::Io { path, source }),
        };
        serde_json::from_str(&text)
            .map_err(|error| EnrolmentError::Format { path, message: error.to_string() })
    }

    pub fn artefacts(&self) -> PathBuf {
        self.folder.join("artefacts")
    }

    pub fn spool(&self, project: &str) -> PathBuf {
        self.folder.join("spool").join(project)
    }

    fn enrolment_path(&self, project: &str) -> Result<PathBuf, EnrolmentError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if project.is_empty() || project.starts_with('.') || !project.chars().all(plain) {
            return Err(EnrolmentError::Name(project.to_owned()));
        }
        Ok(self.folder.join("enrolments").join(format!("{project}.json")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn is_kept_private_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home { folder: folder.path().to_owned() };
        let enrolment = Enrolment {
            hive: "http://127.0.0.1:1".into(),
            project: "app".into(),
            token: "rw_a_b".into(),
            public_key: "00".into(),
            sending: true,
            authority: None,
        };
        home.save(&enrolment).unwrap();
        assert_eq!(home.load("app").unwrap(), enrolment);
        let mode = fs::metadata(folder.path().join("enrolments/app.json")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        assert!(matches!(home.load("other"), Err(EnrolmentError::Unknown { .. })));
        assert!(matches!(home.load("../app"), Err(EnrolmentError::Name(_))));
    }
}
