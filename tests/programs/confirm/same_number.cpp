// Two sessions get the same number.
// verdict(1): harmful assertion
#include <cassert>
#include <thread>

static int next_number = 1;

static void open_session(int *mine) {
    int number = next_number; // RACE! pair(1 read)
    *mine = number;
    next_number = number + 1; // RACE! pair(1 write)
}

int main() {
    int first = 0, second = 0;
    std::thread one(open_session, &first), two(open_session, &second);
    one.join();
    two.join();
    assert(first != second);
    return 0;
}
