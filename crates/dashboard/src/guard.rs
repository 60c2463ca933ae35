//! What every answer has in common: the check of the name it was asked under, headers that keep
//! browsers from doing anything but show the page, and how long the server took.

use std::time::Instant;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::State;

const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub async fn guard(shared: State, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    if !is_known_host(host.unwrap_or(""), &shared.options.hosts) {
        return (StatusCode::MISDIRECTED_REQUEST, "this server does not go by that name\n")
            .into_response();
    }
    let start = Instant::now();
    let mut response = next.run(request).await;
    let took = start.elapsed().as_secs_f64() * 1000.0;
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(value) = HeaderValue::from_str(&format!("app;dur={took:.1}")) {
        headers.insert(HeaderName::from_static("server-timing"), value);
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn is_known_host(host: &str, known: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    known.is_empty() || known.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_do_not_matter_and_names_do() {
        let known = ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        for good in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:7227", "[::1]"] {
            assert!(is_known_host(good, &known), "{good}");
        }
        for bad in ["", "evil.example", "localhost.evil.example:80", "127.0.0.1.evil"] {
            assert!(!is_known_host(bad, &known), "{bad}");
        }
        assert!(is_known_host("anything", &[]));
    }
}
