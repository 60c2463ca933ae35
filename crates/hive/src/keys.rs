//! Secrets: random ids, token hashes, signed artefacts and tickets.
//!
//! Tokens are random 256-bit strings, so a plain hash at rest is enough: there is nothing to guess.
//! A ticket carries the whole assignment under a MAC. The hive need not store assignments, any
//! hive on the same database recognises them, and a pod can neither forge one nor use another's.

use racewarden_proto::{Order, artefact_message};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::KeyPair;
use ring::{digest, hmac, signature};

use crate::store::{Store, StoreError, now};

/// Spooled reports may come late, but not later than this.
const TICKET_LIFETIME_SECONDS: i64 = 30 * 24 * 3600;

pub struct Keys {
    signing: signature::Ed25519KeyPair,
    ticket: hmac::Key,
}

/// What a ticket says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    pub build: String,
    pub candidate: u32,
    pub order: Order,
    /// The token that the assignment was given to.
    pub pod: String,
    pub wait_ms: u32,
    pub issued: i64,
    pub nonce: String,
}

impl Keys {
    /// Loads the hive's keys, making them on the first start.
    pub async fn load(store: &Store) -> Result<Keys, StoreError> {
        let new = signature::Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
            .map_err(|_| StoreError::Corrupt { what: "a key", text: "no randomness".into() })?;
        let stored = store.key("artefact-signing", new.as_ref()).await?;
        let signing = signature::Ed25519KeyPair::from_pkcs8(&stored).map_err(|error| {
            StoreError::Corrupt { what: "a signing key", text: error.to_string() }
        })?;
        let secret = store.key("ticket-mac", &random_bytes::<32>()).await?;
        Ok(Keys { signing, ticket: hmac::Key::new(hmac::HMAC_SHA256, &secret) })
    }

    pub fn public_key(&self) -> String {
        hex(self.signing.public_key().as_ref())
    }

    pub fn sign_artefact(&self, project: &str, build: &str, sha256: &str) -> String {
        hex(self.signing.sign(&artefact_message(project, build, sha256)).as_ref())
    }

    pub fn seal(&self, ticket: &Ticket) -> String {
        let body = format!(
            "{}.{}.{}.{}.{}.{}.{}",
            ticket.build,
            ticket.candidate,
            ticket.order.as_str(),
            ticket.pod,
            ticket.wait_ms,
            ticket.issued,
            ticket.nonce
        );
        let mac = hmac::sign(&self.ticket, body.as_bytes());
        format!("{body}.{}", hex(mac.as_ref()))
    }

    /// `None` for anything that this hive did not hand out, or too long ago.
    pub fn open(&self, text: &str) -> Option<Ticket> {
        let (body, mac) = text.rsplit_once('.')?;
        hmac::verify(&self.ticket, body.as_bytes(), &unhex(mac)?).ok()?;
        let parts: Vec<&str> = body.split('.').collect();
        let [build, candidate, order, pod, wait_ms, issued, nonce] = parts.as_slice() else {
            return None;
        };
        let issued: i64 = issued.parse().ok()?;
        if now() - issued > TICKET_LIFETIME_SECONDS {
            return None;
        }
        Some(Ticket {
            build: (*build).to_owned(),
            candidate: candidate.parse().ok()?,
            order: Order::parse(order)?,
            pod: (*pod).to_owned(),
            wait_ms: wait_ms.parse().ok()?,
            issued,
            nonce: (*nonce).to_owned(),
        })
    }
}

fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the system has a source of randomness");
    bytes
}

/// A random id of `2 * bytes` hex digits (at most 64).
pub fn random_hex(bytes: usize) -> String {
    hex(&random_bytes::<32>()[..bytes.min(32)])
}

pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

    async fn keys() -> (tempfile::TempDir, Keys, Store) {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("hive.db").display());
        let store = Store::open(&url).await.unwrap();
        let keys = Keys::load(&store).await.unwrap();
        (folder, keys, store)
    }

    fn ticket() -> Ticket {
        Ticket {
            build: "b1".into(),
            candidate: 7,
            order: Order::Alternate,
            pod: "p1".into(),
            wait_ms: 200,
            issued: now(),
            nonce: random_hex(16),
        }
    }

    #[tokio::test]
    async fn a_ticket_opens_only_unchanged_and_in_time() {
        let (_folder, keys, _store) = keys().await;
        let sealed = keys.seal(&ticket());
        assert!(keys.open(&sealed).is_some());
        assert_eq!(keys.open(&sealed.replace("alternate", "primary")), None);
        assert_eq!(keys.open(&sealed.replace("p1", "p2")), None);
        assert_eq!(keys.open("nonsense"), None);
        assert_eq!(keys.open(""), None);
        let old = Ticket { issued: now() - TICKET_LIFETIME_SECONDS - 10, ..ticket() };
        assert_eq!(keys.open(&keys.seal(&old)), None);
    }

    #[tokio::test]
    async fn every_hive_on_a_database_has_the_same_keys() {
        let (_folder, keys, store) = keys().await;
        let second = Keys::load(&store).await.unwrap();
        assert_eq!(keys.public_key(), second.public_key());
        assert!(second.open(&keys.seal(&ticket())).is_some());
    }
}
