//! The runtime's file of findings: tab-separated lines, a finding from `race` to `end`.
//!
//! A program that dies in the middle of a line leaves an incomplete last finding, which is skipped;
//! everything before it counts.

use std::collections::BTreeMap;

/// An address with the module it lies in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    pub address: u64,
    /// Where the module was loaded.
    pub base: u64,
    pub module: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockRecord {
    pub read_mode: bool,
    pub place: Place,
    pub stack: Vec<Place>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessRecord {
    /// `read`, `write` or `free`.
    pub kind: String,
    pub atomic: bool,
    pub thread: u32,
    pub stack: Vec<Place>,
    pub locks: Vec<LockRecord>,
    /// Nobody knows any more which locks were held.
    pub locks_forgotten: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectRecord {
    /// `freed` is where the block was given back; empty while it lives.
    Heap {
        size: u64,
        offset: u64,
        stack: Vec<Place>,
        freed: Vec<Place>,
    },
    Stack {
        thread: u32,
    },
    Global(Place),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadRecord {
    pub name: String,
    pub parent: u32,
    pub routine: Place,
    pub created: Vec<Place>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RaceRecord {
    pub observed: bool,
    /// The states that the location's memory state machine went through.
    pub machine: String,
    pub size: u32,
    /// The later access first.
    pub accesses: Vec<AccessRecord>,
    pub object: Option<ObjectRecord>,
    pub threads: BTreeMap<u32, ThreadRecord>,
}

/// What the runtime counted until a process ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exit {
    pub counts: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFile {
    pub races: Vec<RaceRecord>,
    pub started: u32,
    pub exits: Vec<Exit>,
    /// Options and suppressions that the program brings along.
    pub options: Vec<String>,
    pub suppressions: Vec<String>,
}

/// Where a `frame` line belongs.
enum Current {
    None,
    Access,
    Lock,
    Object,
    Freed,
    Thread(u32),
}

pub fn parse(text: &str) -> RunFile {
    let mut file = RunFile::default();
    let mut race: Option<RaceRecord> = None;
    let mut current = Current::None;
    for line in text.lines() {
        let mut fields = line.split('\t');
        let kind = fields.next().unwrap_or_default();
        let rest: Vec<&str> = fields.collect();
        match (kind, &mut race) {
            ("start", _) => file.started += 1,
            ("options", _) => file.options.push(rest.join("\t")),
            ("suppress", _) => file.suppressions.push(rest.join("\t")),
            ("exit", _) => file.exits.push(exit(&rest)),
            ("race", _) => {
                race = Some(RaceRecord {
                    observed: rest.first() == Some(&"observed"),
                    size: rest.get(2).and_then(|text| text.parse().ok()).unwrap_or(1),
                    ..RaceRecord::default()
                });
                current = Current::None;
            }
            ("end", _) => {
                if let Some(done) = race.take().filter(|race| race.accesses.len() == 2) {
                    file.races.push(done);
                }
            }
            (_, None) => {}
            (kind, Some(race)) => part(race, &mut current, kind, &rest),
        }
    }
    file
}

fn part(race: &mut RaceRecord, current: &mut Current, kind: &str, rest: &[&str]) {
    let number = |at: usize| rest.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let text = |at: usize| rest.get(at).copied().unwrap_or_default();
    match kind {
        "access" => {
            *current = Current::Access;
            race.accesses.push(AccessRecord {
                kind: text(0).to_owned(),
                atomic: text(1) == "1",
                thread: number(2) as u32,
                ..AccessRecord::default()
            });
        }
        "lock" => {
            *current = Current::Lock;
            if let Some(access) = race.accesses.last_mut() {
                let (read_mode, place) = (text(0) == "read", place(&rest[1..]));
                access.locks.push(LockRecord { read_mode, place, stack: Vec::new() });
            }
        }
        "object" => {
            *current = Current::Object;
            race.object = Some(match text(0) {
                "heap" => ObjectRecord::Heap {
                    size: number(2),
                    offset: number(3),
                    stack: Vec::new(),
                    freed: Vec::new(),
                },
                "stack" => ObjectRecord::Stack { thread: number(1) as u32 },
                _ => ObjectRecord::Global(place(&rest[1..])),
            });
        }
        "locks" => {
            if let Some(access) = race.accesses.last_mut() {
                access.locks_forgotten = text(0) == "forgotten";
            }
        }
        "machine" => race.machine = text(0).to_owned(),
        "freed" => *current = Current::Freed,
        "thread" => {
            let id = number(0) as u32;
            *current = Current::Thread(id);
            let routine = place(rest.get(3..).unwrap_or_default());
            race.threads.insert(
                id,
                ThreadRecord {
                    name: text(1).to_owned(),
                    parent: number(2) as u32,
                    routine,
                    created: Vec::new(),
                },
            );
        }
        "frame" => frame(race, current, place(rest)),
        _ => {}
    }
}

fn frame(race: &mut RaceRecord, current: &Current, place: Place) {
    let stack = match current {
        Current::None => None,
        Current::Access => race.accesses.last_mut().map(|access| &mut access.stack),
        Current::Lock => race
            .accesses
            .last_mut()
            .and_then(|access| access.locks.last_mut())
            .map(|lock| &mut lock.stack),
        Current::Object => match &mut race.object {
            Some(ObjectRecord::Heap { stack, .. }) => Some(stack),
            _ => None,
        },
        Current::Freed => match &mut race.object {
            Some(ObjectRecord::Heap { freed, .. }) => Some(freed),
            _ => None,
        },
        Current::Thread(id) => race.threads.get_mut(id).map(|thread| &mut thread.created),
    };
    if let Some(stack) = stack {
        stack.push(place);
    }
}

fn place(fields: &[&str]) -> Place {
    let hex =
        |at: usize| fields.get(at).and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0);
    let module = fields.get(2).copied().unwrap_or_default().to_owned();
    Place { address: hex(0), base: hex(1), module }
}

fn exit(fields: &[&str]) -> Exit {
    let pair = |field: &&str| {
        let (name, value) = field.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    Exit { counts: fields.iter().filter_map(pair).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_finding_and_skips_a_torn_one() {
        let text = "start\t7\n\
            suppress\trace:foo\n\
            race\tobserved\t4010\t4\n\
            machine\tExclusive-Write > Race\n\
            access\twrite\t0\t1\n\
            frame\t1234\t1000\t/bin/p\n\
            lock\twrite\t4020\t1000\t/bin/p\n\
            frame\t1200\t1000\t/bin/p\n\
            access\tread\t1\t0\n\
            frame\t1300\t1000\t/bin/p\n\
            locks\tforgotten\n\
            object\theap\t9000\t32\t8\n\
            frame\t1400\t1000\t/bin/p\n\
            freed\n\
            frame\t1450\t1000\t/bin/p\n\
            thread\t1\t0.1\t0\t1100\t1000\t/bin/p\n\
            frame\t1500\t1000\t/bin/p\n\
            end\n\
            exit\tpid=7\tthreads=2\n\
            race\tpotential\t4010\t4\n\
            access\twri";
        let file = parse(text);
        assert_eq!((file.races.len(), file.started, file.exits.len()), (1, 1, 1));
        let race = &file.races[0];
        assert!(race.observed);
        assert_eq!(race.machine, "Exclusive-Write > Race");
        assert_eq!(race.accesses[0].locks[0].stack[0].address, 0x1200);
        assert!(race.accesses[1].atomic);
        assert!(race.accesses[1].locks_forgotten && !race.accesses[0].locks_forgotten);
        assert_eq!(race.threads[&1].created[0].address, 0x1500);
        let Some(ObjectRecord::Heap { size: 32, offset: 8, stack, freed }) = &race.object else {
            panic!("not the heap block: {:?}", race.object);
        };
        assert_eq!((stack[0].address, freed[0].address), (0x1400, 0x1450));
        assert_eq!(file.suppressions, ["race:foo"]);
        assert_eq!(file.exits[0].counts["threads"], 2);
    }
}
