//! Pods' reports and what the pods execute.

use racewarden_proto::{NotEnforced, Order, ViolationKind};
use sqlx::AssertSqlSafe;

use super::{Store, StoreError, now};
use crate::judge::{Finding, Testimony};

/// A report that has been checked, ready to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRow {
    pub nonce: String,
    pub build: String,
    pub candidate: u32,
    pub pod: String,
    pub order: Order,
    pub finding: Finding,
    /// The violation as JSON, empty when there was none.
    pub violation: String,
    pub wait_ms: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodRow {
    pub pod: String,
    pub executed_gates: Vec<u32>,
    pub dropped: u64,
    pub seen: i64,
}

/// How a finding is spelt in its columns: result, detail, context.
fn columns(finding: &Finding) -> (&'static str, String, &str) {
    match finding {
        Finding::Enforced { context, same_instant } => {
            ("enforced", if *same_instant { "same-instant".into() } else { String::new() }, context)
        }
        Finding::NotEnforced(reason) => ("not-enforced", name(reason), ""),
        Finding::Violation { context, kind } => ("violation", name(kind), context),
    }
}

fn finding(result: &str, detail: &str, context: String) -> Option<Finding> {
    let quoted = serde_json::Value::String(detail.to_owned());
    Some(match result {
        "enforced" => Finding::Enforced { context, same_instant: detail == "same-instant" },
        "not-enforced" => Finding::NotEnforced(serde_json::from_value::<NotEnforced>(quoted).ok()?),
        "violation" => Finding::Violation {
            context,
            kind: serde_json::from_value::<ViolationKind>(quoted).ok()?,
        },
        _ => return None,
    })
}

/// The statement that inserts `rows` reports: numbered parameters and nothing else varies, so
/// that both stores take it.
fn insert_statement(rows: usize) -> String {
    const COLUMNS: usize = 11;
    let mut sql = String::from(
        "INSERT INTO hive_reports (nonce, build, candidate, pod, ord, result, detail, context, \
         violation, wait_ms, received) VALUES ",
    );
    for row in 0..rows {
        let numbers: Vec<String> =
            (1..=COLUMNS).map(|column| format!("${}", row * COLUMNS + column)).collect();
        sql.push_str(if row == 0 { "(" } else { ", (" });
        sql.push_str(&numbers.join(", "));
        sql.push(')');
    }
    sql.push_str(" ON CONFLICT DO NOTHING RETURNING nonce");
    sql
}

fn name<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

impl Store {
    /// Stores reports in one transaction and returns the nonces that were new. After it returns,
    /// they are on disk.
    pub async fn insert_reports(&self, rows: &[ReportRow]) -> Result<Vec<String>, StoreError> {
        let mut fresh = Vec::with_capacity(rows.len());
        let mut transaction = self.pool.begin().await?;
        // SQLite takes at most 32,766 parameters in one statement, and each row has 11.
        for rows in rows.chunks(500) {
            let mut query = sqlx::query_as(AssertSqlSafe(insert_statement(rows.len())));
            for row in rows {
                let (result, detail, context) = columns(&row.finding);
                query = query
                    .bind(&row.nonce)
                    .bind(&row.build)
                    .bind(i64::from(row.candidate))
                    .bind(&row.pod)
                    .bind(row.order.as_str())
                    .bind(result)
                    .bind(detail)
                    .bind(context)
                    .bind(&row.violation)
                    .bind(i64::from(row.wait_ms))
                    .bind(now());
            }
            let new: Vec<(String,)> = query.fetch_all(&mut *transaction).await?;
            fresh.extend(new.into_iter().map(|(nonce,)| nonce));
        }
        transaction.commit().await?;
        Ok(fresh)
    }

    /// What was reported of one candidate, equal reports of one pod counted together.
    pub async fn testimonies(
        &self,
        build: &str,
        candidate: u32,
    ) -> Result<Vec<Testimony>, StoreError> {
        let rows: Vec<(String, String, String, String, String, i64)> = sqlx::query_as(
            "SELECT pod, ord, result, detail, context, COUNT(*) FROM hive_reports \
             WHERE build = $1 AND candidate = $2 \
             GROUP BY pod, ord, result, detail, context \
             ORDER BY pod, ord, result, detail, context",
        )
        .bind(build)
        .bind(i64::from(candidate))
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|(pod, order, result, detail, context, count)| {
                let corrupt =
                    |text: &str| StoreError::Corrupt { what: "a report", text: text.into() };
                Ok(Testimony {
                    order: Order::parse(&order).ok_or_else(|| corrupt(&order))?,
                    finding: finding(&result, &detail, context).ok_or_else(|| corrupt(&detail))?,
                    count: usize::try_from(count).unwrap_or(0),
                    pod,
                })
            })
            .collect()
    }

    /// The longest wait that was tried for a candidate, in milliseconds.
    pub async fn longest_wait(&self, build: &str, candidate: u32) -> Result<u32, StoreError> {
        let (wait,): (Option<i64>,) = sqlx::query_as(
            "SELECT MAX(wait_ms) FROM hive_reports WHERE build = $1 AND candidate = $2",
        )
        .bind(build)
        .bind(i64::from(candidate))
        .fetch_one(&self.pool)
        .await?;
        Ok(wait.and_then(|wait| u32::try_from(wait).ok()).unwrap_or(0))
    }

    /// The first violation under an order that was told with a stack, else any: as JSON.
    pub async fn violation(
        &self,
        build: &str,
        candidate: u32,
        order: Order,
    ) -> Result<Option<String>, StoreError> {
        let rows: Vec<(String,)> = sqlx::query_as(
            "SELECT violation FROM hive_reports WHERE build = $1 AND candidate = $2 AND ord = $3 \
             AND result = 'violation' ORDER BY received, nonce LIMIT 50",
        )
        .bind(build)
        .bind(i64::from(candidate))
        .bind(order.as_str())
        .fetch_all(&self.pool)
        .await?;
        let mut texts = rows.into_iter().map(|(text,)| text);
        let first = texts.next();
        let with_stack = |text: &String| !text.contains("\"stack\":[]");
        Ok(match first {
            Some(text) if with_stack(&text) => Some(text),
            first => texts.find(with_stack).or(first),
        })
    }

    /// Every candidate that something was reported of.
    pub async fn reported_candidates(&self) -> Result<Vec<(String, u32)>, StoreError> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("SELECT DISTINCT build, candidate FROM hive_reports")
                .fetch_all(&self.pool)
                .await?;
        Ok(rows
            .into_iter()
            .filter_map(|(build, candidate)| Some((build, u32::try_from(candidate).ok()?)))
            .collect())
    }

    /// Attempts per candidate and order.
    pub async fn attempts(&self, build: &str) -> Result<Vec<(u32, Order, u32)>, StoreError> {
        let rows: Vec<(i64, String, i64)> = sqlx::query_as(
            "SELECT candidate, ord, COUNT(*) FROM hive_reports WHERE build = $1 \
             GROUP BY candidate, ord",
        )
        .bind(build)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows
            .into_iter()
            .filter_map(|(candidate, order, count)| {
                let count = u32::try_from(count).unwrap_or(u32::MAX);
                Some((u32::try_from(candidate).ok()?, Order::parse(&order)?, count))
            })
            .collect())
    }

    /// Which candidates one pod has enforced, with the order.
    pub async fn enforced_by(
        &self,
        build: &str,
        pod: &str,
    ) -> Result<Vec<(u32, Order)>, StoreError> {
        let rows: Vec<(i64, String)> = sqlx::query_as(
            "SELECT DISTINCT candidate, ord FROM hive_reports \
             WHERE build = $1 AND pod = $2 AND result <> 'not-enforced'",
        )
        .bind(build)
        .bind(pod)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows
            .into_iter()
            .filter_map(|(candidate, order)| {
                Some((u32::try_from(candidate).ok()?, Order::parse(&order)?))
            })
            .collect())
    }

    pub async fn report_count(&self, build: &str) -> Result<u64, StoreError> {
        let (count,): (i64,) = sqlx::query_as("SELECT COUNT(*) FROM hive_reports WHERE build = $1")
            .bind(build)
            .fetch_one(&self.pool)
            .await?;
        Ok(count.unsigned_abs())
    }

    pub async fn reports_of(&self, build: &str, pod: &str) -> Result<u64, StoreError> {
        let (count,): (i64,) =
            sqlx::query_as("SELECT COUNT(*) FROM hive_reports WHERE build = $1 AND pod = $2")
                .bind(build)
                .bind(pod)
                .fetch_one(&self.pool)
                .await?;
        Ok(count.unsigned_abs())
    }

    /// How attempts ended, in the words of the reports.
    pub async fn outcomes(&self, build: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let rows: Vec<(String, String, i64)> = sqlx::query_as(
            "SELECT result, detail, COUNT(*) FROM hive_reports WHERE build = $1 \
             GROUP BY result, detail",
        )
        .bind(build)
        .fetch_all(&self.pool)
        .await?;
        let words = |(result, detail, count): (String, String, i64)| {
            let name = if result == "enforced" { result } else { detail };
            (name, count.unsigned_abs())
        };
        Ok(rows.into_iter().map(words).collect())
    }

    pub async fn save_pod(
        &self,
        build: &str,
        pod: &str,
        executed_gates: &[u32],
        newly_dropped: u64,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO hive_pods (build, pod, executed, dropped, seen) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (build, pod) DO UPDATE SET \
             executed = $3, dropped = hive_pods.dropped + $4, seen = $5",
        )
        .bind(build)
        .bind(pod)
        .bind(serde_json::to_string(executed_gates).unwrap_or_default())
        .bind(i64::try_from(newly_dropped).unwrap_or(i64::MAX))
        .bind(now())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub async fn pods(&self, build: &str) -> Result<Vec<PodRow>, StoreError> {
        let rows: Vec<(String, String, i64, i64)> = sqlx::query_as(
            "SELECT pod, executed, dropped, seen FROM hive_pods WHERE build = $1 ORDER BY pod",
        )
        .bind(build)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|(pod, executed, dropped, seen)| {
                Ok(PodRow {
                    executed_gates: serde_json::from_str(&executed).map_err(|_| {
                        StoreError::Corrupt { what: "a pod's gates", text: executed }
                    })?,
                    pod,
                    dropped: dropped.unsigned_abs(),
                    seen,
                })
            })
            .collect()
    }
}
