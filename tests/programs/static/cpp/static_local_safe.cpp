// The initialisation of a local static is guarded by the language.
#include <thread>
extern "C" int __VERIFIER_nondet_int(void);
struct Config { int a; Config() : a(__VERIFIER_nondet_int()) {} };
int use() {
  static Config config;
  return config.a; // NORACE
}
int main() {
  std::thread t(use), u(use);
  t.join();
  u.join();
  return 0;
}
