// Two threads and one string of bytes.
#include <mutex>
#include <string>
#include <thread>
static std::basic_string<unsigned char> text;
static std::mutex lock;
static void add() {
    std::lock_guard<std::mutex> guard(lock);
    text.push_back('x'); // NORACE
}
int main() {
    std::thread thread(add);
    {
        std::lock_guard<std::mutex> guard(lock);
        text[0] = 'y'; // NORACE
    }
    thread.join();
    return int(text.size());
}
