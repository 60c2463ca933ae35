// A pointer that was kept goes round a recursion, beside the owner's: nobody there is an owner for sure.
#include <memory>
#include <thread>
struct Thing {
  int value = 1;
  ~Thing() { value = 0; } // RACE!
};
void second(Thing *thing, int depth);
void first(Thing *thing, int depth) {
  if (depth > 0) second(thing, depth - 1);
}
void second(Thing *thing, int depth) {
  int seen = thing->value; // RACE!
  (void)seen;
  if (depth > 0) first(thing, depth - 1);
}
Thing *kept;
void uses_kept(int depth) { first(kept, depth); }
void uses_own(std::shared_ptr<Thing> own, int depth) { second(own.get(), depth); }
int main(int count, char **) {
  auto thing = std::make_shared<Thing>();
  kept = thing.get();
  std::thread t(uses_kept, count), u(uses_own, thing, count);
  thing.reset();
  t.join();
  u.join();
}
