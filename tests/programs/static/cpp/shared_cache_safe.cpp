// A map of strings that many may read and one may change.
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
    std::shared_lock<std::shared_mutex> l(m);
    auto it = map.find(key);                  // NORACE
    if (it == map.end()) return std::nullopt; // NORACE
    return it->second;                        // NORACE
  }
  void put(int key, std::string value) {
    std::unique_lock<std::shared_mutex> l(m);
    map[key] = std::move(value); // NORACE
  }
};
int main() {
  Cache c;
  std::thread w([&] { c.put(1, std::to_string(1)); });
  std::thread r([&] { c.get(1); });
  w.join();
  r.join();
  return c.get(1).value_or("none").size(); // NORACE
}
