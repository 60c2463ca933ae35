//! The binary format: everything comes back, and damage costs only what follows it.

use proptest::prelude::*;
use racewarden_trace::binary::chunk::{ChunkKind, write_chunk, write_plain_chunk};
use racewarden_trace::binary::{Encoder, FileError, Header, Record, Recording, SyncOp, compressed};

fn record() -> impl Strategy<Value = Record> {
    let size = prop_oneof![Just(1u32), Just(2), Just(4), Just(8)];
    let cut =
        |value: u64, size: u32| if size == 8 { value } else { value & ((1 << (size * 8)) - 1) };
    let access = (any::<u64>(), size, any::<u64>(), any::<u64>());
    prop_oneof![
        any::<u64>().prop_map(|function| Record::Enter { function }),
        any::<u64>().prop_map(|value| Record::Branch { value }),
        access.clone().prop_map(move |(address, size, value, sequence)| Record::Load {
            address,
            size,
            value: cut(value, size),
            sequence
        }),
        access.clone().prop_map(move |(address, size, value, sequence)| Record::Store {
            address,
            size,
            value: cut(value, size),
            sequence
        }),
        access.prop_map(move |(address, size, value, sequence)| Record::Update {
            address,
            size,
            old: cut(value, size),
            new: cut(!value, size),
            sequence
        }),
        (any::<u64>(), any::<u64>(), any::<bool>(), any::<u64>()).prop_map(
            |(address, size, write, sequence)| Record::Wide { address, size, write, sequence }
        ),
        (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>())
            .prop_map(|(to, from, size, sequence)| Record::Copy { to, from, size, sequence }),
        (any::<u64>(), any::<u8>(), any::<u64>(), any::<u64>())
            .prop_map(|(to, byte, size, sequence)| Record::Set { to, byte, size, sequence }),
        (any::<u64>(), any::<u64>(), any::<u64>())
            .prop_map(|(address, size, sequence)| Record::Slot { address, size, sequence }),
        any::<u64>().prop_map(|target| Record::Call { target }),
        any::<u64>().prop_map(|value| Record::Return { value }),
        any::<u64>().prop_map(|value| Record::Argument { value }),
        (any::<u64>(), any::<u64>())
            .prop_map(|(address, value)| Record::Initial { address, value }),
        (1u8..=25, any::<u64>(), any::<u64>(), any::<u64>()).prop_map(
            |(op, object, extra, sequence)| Record::Sync {
                op: SyncOp::from_number(op).unwrap(),
                object,
                extra,
                sequence
            }
        ),
        (any::<u64>(), any::<u8>()).prop_map(|(count, check)| Record::Derived { count, check }),
        (any::<u64>(), any::<u64>())
            .prop_map(|(address, value)| Record::Content { address, value }),
        any::<u64>().prop_map(|function| Record::Unwind { function }),
        any::<u64>().prop_map(|buffer| Record::Jumped { buffer }),
        any::<u64>().prop_map(|rounds| Record::Loop { rounds }),
        (any::<u64>(), any::<i64>(), any::<u64>(), 0u32..4, any::<bool>(), any::<u64>()).prop_map(
            |(address, stride, count, exponent, write, sequence)| Record::Range {
                address,
                stride,
                count,
                size: 1 << exponent,
                write,
                sequence
            }
        ),
    ]
}

/// A file with the records of one thread in chunks of `per_chunk`.
fn file(records: &[Record], per_chunk: usize) -> Vec<u8> {
    let header = Header { entries: vec![("build".into(), "b1".into())] };
    let mut bytes = header.to_bytes();
    write_chunk(ChunkKind::ThreadName, 7, b"main.2", &mut bytes);
    let mut encoder = Encoder::default();
    for piece in records.chunks(per_chunk.max(1)) {
        let mut content = Vec::new();
        for record in piece {
            encoder.encode(record, &mut content);
        }
        write_plain_chunk(ChunkKind::Records, 7, &content, &mut bytes);
    }
    bytes
}

proptest! {
    #[test]
    fn what_is_written_is_read(records in prop::collection::vec(record(), 0..200), size in 1usize..50) {
        let plain = file(&records, size);
        prop_assert_eq!(&Recording::read(&plain).unwrap().threads[0].records, &records);
        let recording = Recording::read(&compressed(&plain).unwrap()).unwrap();
        prop_assert_eq!(recording.cut_short, None);
        prop_assert_eq!(recording.header.get("build"), Some("b1"));
        prop_assert_eq!(&recording.threads[0].name, "main.2");
        prop_assert_eq!(&recording.threads[0].records, &records);
    }

    /// A killed program leaves a cut file: a prefix of the records comes back, and it is told.
    #[test]
    fn a_cut_file_gives_its_whole_chunks(
        records in prop::collection::vec(record(), 1..100),
        size in 1usize..20,
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = file(&records, size);
        let start = file(&[], 1).len();
        let at = start + cut.index(whole.len() - start);
        let recording = Recording::read(&whole[..at]).unwrap();
        let read = &recording.threads[0].records;
        prop_assert_eq!(read.as_slice(), &records[..read.len()]);
        prop_assert!(recording.cut_short.is_some() || read.len().is_multiple_of(size));
    }

    #[test]
    fn damage_never_panics(
        records in prop::collection::vec(record(), 1..60),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = file(&records, 10);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = Recording::read(&bytes);
    }
}

#[test]
fn foreign_and_future_files_are_refused() {
    assert_eq!(Recording::read(b"T0|w(x)|1\n").unwrap_err(), FileError::Foreign);
    assert_eq!(Recording::read(b"").unwrap_err(), FileError::Foreign);
    let mut bytes = file(&[], 1);
    bytes[4] = 9;
    assert_eq!(Recording::read(&bytes).unwrap_err(), FileError::Version(9));
    assert_eq!(Recording::read(&file(&[], 1)[..8]).unwrap_err(), FileError::Header);
}

#[test]
fn a_usual_stream_is_small() {
    let records: Vec<Record> = (0..1000u64)
        .flat_map(|n| {
            let address = 0x7f00_0000_1000 + n % 50 * 4;
            let sequence = n * 3;
            [
                Record::Load { address, size: 4, value: n, sequence },
                Record::Branch { value: n & 1 },
                Record::Store { address, size: 4, value: n + 1, sequence: sequence + 1 },
            ]
        })
        .collect();
    let bytes = compressed(&file(&records, 3000)).unwrap().len();
    assert!(bytes < 4 * records.len(), "{bytes} bytes for {} records", records.len());
}
