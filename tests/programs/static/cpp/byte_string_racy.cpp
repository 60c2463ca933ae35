// A string of bytes inside an object that also holds a pointer to another thread's memory.
#include <string>
#include <thread>
struct Scanner {
    std::basic_string<unsigned char> header;
    int *out;
};
int main() {
    Scanner scanner;
    unsigned char start[] = {'B', 'Z', 'h'};
    scanner.header.assign(start, 3);
    scanner.out = new int(0);
    int *out = scanner.out;
    std::thread thread([out] { *out = 1; }); // RACE!
    scanner.header += start[0]; // NORACE
    scanner.header[1] = 'z';    // NORACE
    *scanner.out += scanner.header[2]; // RACE!
    thread.join();
    int result = *scanner.out + int(scanner.header.size());
    delete scanner.out;
    return result;
}
