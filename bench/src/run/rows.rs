//! The measured rows, kept in a file if asked to: the table need not come from one long run, and a
//! program that was measured again replaces its row.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use super::cost::Cost;

/// One program's costs: the median round of each variant.
pub struct Row {
    pub name: String,
    pub plain: Cost,
    pub tsan: Cost,
    pub pruned: Cost,
    pub whole: Cost,
    pub helgrind: Option<Cost>,
}

const HEAD: &str = "| program | native | TSan | racewarden | without pruning | of TSan \
    | of TSan, without | memory | TSan's | of TSan | Helgrind | of racewarden |\n\
    |---|---|---|---|---|---|---|---|---|---|---|---|";

impl Row {
    /// Processor time with and without pruning and memory, of TSan's, and Helgrind's processor time,
    /// of racewarden's.
    fn ratios(&self) -> [f64; 4] {
        [
            of(self.pruned.cpu, self.tsan.cpu),
            of(self.whole.cpu, self.tsan.cpu),
            of(self.pruned.memory, self.tsan.memory),
            self.helgrind.as_ref().map_or(f64::NAN, |helgrind| of(helgrind.cpu, self.pruned.cpu)),
        ]
    }

    fn line(&self) -> String {
        let (native, ratios) = (self.plain.cpu, self.ratios());
        let helgrind = match &self.helgrind {
            Some(cost) => format!("{:.2} s | {:.1}x", cost.cpu, ratios[3]),
            None => "– | –".to_owned(),
        };
        format!(
            "| {} | {native:.2} s | {:.1}x | {:.1}x | {:.1}x | {:.2}x | {:.2}x | {:.0} MB | {:.0} MB | {:.2}x | {helgrind} |",
            self.name,
            of(self.tsan.cpu, native),
            of(self.pruned.cpu, native),
            of(self.whole.cpu, native),
            ratios[0],
            ratios[1],
            self.pruned.memory,
            self.tsan.memory,
            ratios[2],
        )
    }

    fn to_json(&self) -> Value {
        let cost = |cost: &Cost| json!([cost.cpu, cost.memory]);
        json!({
            "name": self.name,
            "plain": cost(&self.plain),
            "tsan": cost(&self.tsan),
            "pruned": cost(&self.pruned),
            "whole": cost(&self.whole),
            "helgrind": self.helgrind.as_ref().map(cost),
        })
    }

    fn of_json(value: &Value) -> Option<Row> {
        let cost = |name: &str| {
            let cost = &value[name];
            let output = String::new();
            Some(Cost { cpu: cost[0].as_f64()?, memory: cost[1].as_f64()?, output })
        };
        Some(Row {
            name: value["name"].as_str()?.to_owned(),
            plain: cost("plain")?,
            tsan: cost("tsan")?,
            pruned: cost("pruned")?,
            whole: cost("whole")?,
            helgrind: cost("helgrind"),
        })
    }
}

fn of(a: f64, b: f64) -> f64 {
    a / b.max(0.01)
}

#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// With the rows of the file, when it is there.
    pub fn read(file: Option<&Path>) -> anyhow::Result<Table> {
        let Some(file) = file.filter(|file| file.is_file()) else { return Ok(Table::default()) };
        let text = std::fs::read_to_string(file).context(file.display().to_string())?;
        let rows: Option<Vec<Row>> = text
            .lines()
            .map(|line| serde_json::from_str(line).ok().as_ref().and_then(Row::of_json))
            .collect();
        Ok(Table { rows: rows.with_context(|| format!("{}: not rows", file.display()))? })
    }

    /// Takes a row in, instead of the program's old one, and keeps them all.
    pub fn add(&mut self, row: Row, file: Option<&Path>) -> anyhow::Result<()> {
        match self.rows.iter_mut().find(|old| old.name == row.name) {
            Some(old) => *old = row,
            None => self.rows.push(row),
        }
        let Some(file) = file else { return Ok(()) };
        let lines: String = self.rows.iter().map(|row| row.to_json().to_string() + "\n").collect();
        std::fs::write(file, lines).context(file.display().to_string())
    }

    /// All rows, in the order of `names`, and the means of what was measured.
    pub fn tell(&self, names: &[&str]) {
        println!("{HEAD}");
        let place = |row: &&Row| names.iter().position(|name| *name == row.name);
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(place);
        for row in &rows {
            println!("{}", row.line());
        }
        let mean = [0, 1, 2, 3]
            .map(|at| geometric_mean(&rows.iter().map(|row| row.ratios()[at]).collect::<Vec<_>>()));
        let helgrind =
            if mean[3].is_finite() { format!("{:.1}x", mean[3]) } else { "–".to_owned() };
        println!(
            "| geometric mean | | | | | {:.2}x | {:.2}x | | | {:.2}x | | {helgrind} |",
            mean[0], mean[1], mean[2]
        );
    }
}

/// Of those that were measured.
fn geometric_mean(ratios: &[f64]) -> f64 {
    let logs: Vec<f64> = ratios.iter().filter(|ratio| ratio.is_finite()).map(|r| r.ln()).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, seconds: f64) -> Row {
        let cost = |cpu: f64| Cost { cpu, memory: 8.0, output: String::new() };
        Row {
            name: name.to_owned(),
            plain: cost(1.0),
            tsan: cost(4.0),
            pruned: cost(seconds),
            whole: cost(4.0),
            helgrind: None,
        }
    }

    #[test]
    fn a_row_measured_again_replaces_the_old_one_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows");
        let mut table = Table::read(Some(&file)).unwrap();
        table.add(row("a", 2.0), Some(&file)).unwrap();
        table.add(row("b", 2.0), Some(&file)).unwrap();
        let mut again = Table::read(Some(&file)).unwrap();
        again.add(row("a", 3.0), Some(&file)).unwrap();
        let read = Table::read(Some(&file)).unwrap();
        let costs: Vec<(&str, f64)> =
            read.rows.iter().map(|row| (row.name.as_str(), row.pruned.cpu)).collect();
        assert_eq!(costs, [("a", 3.0), ("b", 2.0)]);
        assert_eq!(read.rows[0].ratios()[0], 0.75);
        std::fs::write(&file, "not a row\n").unwrap();
        assert!(Table::read(Some(&file)).is_err());
    }
}
