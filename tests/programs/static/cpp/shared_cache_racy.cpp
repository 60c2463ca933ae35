// A map of strings that is read without the lock it is changed under.
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
class Cache {
  mutable std::shared_mutex m;
  std::unordered_map<int, std::string> map;

public:
  std::optional<std::string> get(int key) const {

    auto it = map.find(key);                  // RACE!
    if (it == map.end()) return std::nullopt;
    return it->second;                        // RACE! miss(static): named in the headers
  }
  void put(int key, std::string value) {
    std::unique_lock<std::shared_mutex> l(m);
    map[key] = std::move(value); // RACE!
  }
};
int main() {
  Cache c;
  std::thread w([&] { c.put(1, std::to_string(1)); });
  std::thread r([&] { c.get(1); });
  w.join();
  r.join();
  return c.get(1).value_or("none").size();
}
