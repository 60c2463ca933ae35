// The destructor sets the virtual table pointer while another thread calls through it.
#include "../program.h"
#include <thread>
struct Base {
  virtual void poke() {}
  virtual ~Base() { poke(); } // RACE!
};
struct Derived : Base {
  void poke() override {}
  ~Derived() override { done(); }
};
Base *object = new Derived;
int main() {
  std::thread caller([] {
    object->poke(); // RACE!
    done();
  });
  step(1);
  object->~Base();
  caller.join();
}
