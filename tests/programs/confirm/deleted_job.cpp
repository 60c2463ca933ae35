// The owner deletes the job while the worker is about to run it.
// verdict(1): harmful crash
#include <thread>
#include <unistd.h>

static int runs, served;

static void count() { runs++; }

struct Job {
    void (*run)();
    int priority;
};

int main() {
    Job *job = new Job{count, 1};
    std::thread worker([job] {
        void (*run)() = job->run; // RACE! pair(1 read)
        run();
        served++;
    });
    usleep(60000);
    delete job; // RACE! pair(1 write)
    worker.join();
    return runs == 1 && served == 1 ? 0 : 1;
}
