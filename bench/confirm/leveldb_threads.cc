// A threaded test of LevelDB through its public interface: writers, a reader with an iterator, and
// a compaction, on one database.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/db.h"
#include "leveldb/write_batch.h"

namespace {

void check(const leveldb::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(2);
  }
}

void write(leveldb::DB* db, int number) {
  std::string value(2000, static_cast<char>('a' + number));
  for (int i = 0; i < 300; i++) {
    leveldb::WriteBatch batch;
    batch.Put("key" + std::to_string(number * 1000 + i), value);
    if (i % 3 == 0) batch.Delete("key" + std::to_string(number * 1000 + i / 2));
    check(db->Write(leveldb::WriteOptions(), &batch));
  }
}

void read(leveldb::DB* db) {
  for (int round = 0; round < 5; round++) {
    leveldb::Iterator* it = db->NewIterator(leveldb::ReadOptions());
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
    }
    check(it->status());
    delete it;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  leveldb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 128 << 10;
  check(leveldb::DestroyDB(argv[1], options));
  leveldb::DB* db = nullptr;
  check(leveldb::DB::Open(options, argv[1], &db));
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; i++) threads.emplace_back(write, db, i);
  threads.emplace_back(read, db);
  threads.emplace_back([db] { db->CompactRange(nullptr, nullptr); });
  for (std::thread& thread : threads) thread.join();
  delete db;
  check(leveldb::DestroyDB(argv[1], options));
  return 0;
}
