//! Talking to the hive. Every call has a short deadline: a slow hive is an absent hive.

use std::time::Duration;

use racewarden_proto::{
    AssignmentReply, AssignmentRequest, BuildInfo, BuildUpload, PREFIX, ProjectInfo, ReportBatch,
    ReportReceipt,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::Enrolment;

const ANSWER_WITHIN: Duration = Duration::from_secs(3);
const TRANSFER_WITHIN: Duration = Duration::from_secs(600);
const ARTEFACT_LIMIT: u64 = 512 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Try again later.
    #[error("the hive is away: {0}")]
    Away(String),
    /// Asking again will not help.
    #[error("the hive refused ({status}): {message}")]
    Refused { status: u16, message: String },
    #[error("the hive's answer cannot be read: {0}")]
    Answer(String),
}

impl ClientError {
    /// Whether the same request may succeed later.
    pub fn is_passing(&self) -> bool {
        match self {
            ClientError::Away(_) => true,
            ClientError::Refused { status, .. } => *status == 429 || *status >= 500,
            ClientError::Answer(_) => false,
        }
    }
}

fn tls(authority: Option<&str>) -> TlsConfig {
    let own = authority.and_then(|pem| Certificate::from_pem(pem.as_bytes()).ok());
    match own {
        Some(certificate) => {
            TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[certificate])).build()
        }
        None => TlsConfig::default(),
    }
}

pub struct HiveClient {
    agent: ureq::Agent,
    base: String,
    token: String,
}

impl HiveClient {
    pub fn new(enrolment: &Enrolment) -> Self {
        let authority = enrolment.authority.as_deref();
        HiveClient::with(&enrolment.hive, &enrolment.project, &enrolment.token, authority)
    }

    /// `authority` is a certificate authority in PEM; without it the public ones vouch.
    pub fn with(hive: &str, project: &str, token: &str, authority: Option<&str>) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .tls_config(tls(authority))
            .timeout_connect(Some(ANSWER_WITHIN))
            .timeout_recv_response(Some(ANSWER_WITHIN))
            .timeout_global(Some(TRANSFER_WITHIN))
            .build()
            .into();
        let base = format!("{}{PREFIX}/projects/{project}", hive.trim_end_matches('/'));
        HiveClient { agent, base, token: token.to_owned() }
    }

    pub fn project(&self) -> Result<ProjectInfo, ClientError> {
        self.json("GET", "", None::<&()>)
    }

    pub fn latest_build(&self) -> Result<BuildInfo, ClientError> {
        self.json("GET", "/builds/latest", None::<&()>)
    }

    pub fn artefact(&self, build: &str) -> Result<Vec<u8>, ClientError> {
        self.bytes("GET", &format!("/builds/{build}/artefact"), Vec::new())
    }

    pub fn publish(&self, upload: &BuildUpload, artefact: Vec<u8>) -> Result<(), ClientError> {
        let _: BuildInfo = self.json("POST", "/builds", Some(upload))?;
        self.bytes("PUT", &format!("/builds/{}/artefact", upload.name), artefact)?;
        Ok(())
    }

    pub fn assignment(&self, request: &AssignmentRequest) -> Result<AssignmentReply, ClientError> {
        self.json("POST", "/assignments", Some(request))
    }

    pub fn report(&self, batch: &ReportBatch) -> Result<ReportReceipt, ClientError> {
        self.json("POST", "/reports", Some(batch))
    }

    fn json<A: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<A, ClientError> {
        let body = match body {
            Some(body) => {
                serde_json::to_vec(body).map_err(|error| ClientError::Answer(error.to_string()))?
            }
            None => Vec::new(),
        };
        let bytes = self.bytes(method, path, body)?;
        serde_json::from_slice(&bytes).map_err(|error| ClientError::Answer(error.to_string()))
    }

    fn bytes(&self, method: &str, path: &str, body: Vec<u8>) -> Result<Vec<u8>, ClientError> {
        let away = |error: ureq::Error| ClientError::Away(error.to_string());
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(body)
            .map_err(|error| ClientError::Answer(error.to_string()))?;
        let mut response = self.agent.run(request).map_err(away)?;
        let status = response.status().as_u16();
        let bytes =
            response.body_mut().with_config().limit(ARTEFACT_LIMIT).read_to_vec().map_err(away)?;
        if (200..300).contains(&status) {
            return Ok(bytes);
        }
        let message = serde_json::from_slice::<serde_json::Value>(&bytes)
            .ok()
            .and_then(|value| Some(value.get("error")?.as_str()?.to_owned()))
            .unwrap_or_else(|| String::from_utf8_lossy(&bytes).chars().take(200).collect());
        Err(ClientError::Refused { status, message })
    }
}
