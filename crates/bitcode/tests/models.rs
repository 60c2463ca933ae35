//! The tables know the functions that real front ends and libraries call.

mod common;

use std::collections::BTreeSet;

use common::Source;
use racewarden_ir::Module;
use racewarden_models::{Effect, Model, Models};

/// Functions without a body that no table knows.
fn unknown(module: &Module) -> BTreeSet<String> {
    let symbols = module
        .functions
        .iter()
        .filter(|function| function.is_declaration())
        .map(|function| module.name_text(function.name));
    symbols
        .filter(|symbol| Models::builtin().lookup(symbol).is_none())
        .map(|symbol| racewarden_models::plain_name(symbol).unwrap_or_else(|| symbol.to_owned()))
        .collect()
}

/// Models of all functions of a module, bodies or not.
fn used(module: &Module) -> Vec<&'static Model> {
    let functions = module.functions.iter();
    functions
        .filter_map(|function| {
            let symbol = module.name_text(function.name);
            Models::builtin().for_function(symbol, !function.is_declaration())
        })
        .collect()
}

const CPP: &str = r#"
#include <thread>
#include <mutex>
#include <shared_mutex>
#include <condition_variable>
#include <future>
#include <memory>
#include <semaphore>
#include <latch>
#include <barrier>
std::mutex m; std::recursive_mutex rm; std::timed_mutex tm; std::shared_mutex sm;
std::condition_variable cv; std::once_flag once; int x;
std::counting_semaphore<4> sem(1); std::latch latch(2); std::barrier<> barrier(2);
struct Lazy { int v = 1; ~Lazy() {} }; Lazy &lazy() { static Lazy l; return l; }
int main() {
  std::thread t([](int a) { std::lock_guard<std::mutex> g(m); x += a; }, 3);
  { std::unique_lock<std::mutex> l(m); cv.wait(l, [] { return x > 0; });
    cv.wait_for(l, std::chrono::seconds(1)); cv.notify_one(); cv.notify_all(); }
  { std::shared_lock<std::shared_mutex> s(sm); } { std::unique_lock<std::shared_mutex> s(sm); }
  if (tm.try_lock_for(std::chrono::seconds(1))) tm.unlock();
  { std::unique_lock<std::mutex> l(m, std::try_to_lock); if (l) x++; }
  { std::scoped_lock both(m, rm); x++; }
  std::call_once(once, [] { x = 1; });
  auto f = std::async(std::launch::async, [] { return x; });
  std::promise<int> p; auto pf = p.get_future(); std::thread t2([&] { p.set_value(1); }); pf.wait();
  sem.acquire(); sem.release(); latch.count_down(); latch.wait(); barrier.arrive_and_wait();
  auto shared = std::make_shared<int>(1); auto other = shared;
  t.join(); t2.detach(); return f.get() + lazy().v;
}
"#;

#[test]
fn both_cpp_libraries_are_known() {
    for library in ["-stdlib=libstdc++", "-stdlib=libc++"] {
        let module = Source::new("a.cpp", CPP).lower(&["-std=c++20", library]);
        assert_eq!(unknown(&module), BTreeSet::new(), "{library}");
        let models = used(&module);
        let has = |what: &str, wanted: fn(&Effect) -> bool| {
            let found = models.iter().any(|model| model.effects.iter().any(wanted));
            assert!(found, "{library}: nothing {what}");
        };
        has("takes a lock", |e| matches!(e, Effect::Acquire(_)));
        has("starts a thread", |e| matches!(e, Effect::CreateThread(_)));
        has("joins one", |e| matches!(e, Effect::Join { .. }));
        has("waits", |e| matches!(e, Effect::CondWait { .. }));
        has("runs once", |e| matches!(e, Effect::Once { .. }));
        has("guards a static", |e| matches!(e, Effect::OnceBegin { .. }));
        has("waits for a semaphore", |e| matches!(e, Effect::SemWait { .. }));
        has("meets at a barrier", |e| matches!(e, Effect::BarrierWait { .. }));
        has("waits for a result", |e| matches!(e, Effect::SyncAcquire { .. }));
    }
}

#[test]
fn openmp_is_known() {
    let text = "#include <omp.h>
        int a[100], total, n; omp_lock_t lock;
        int main(void) {
            #pragma omp parallel for reduction(+:total) schedule(dynamic)
            for (int i = 0; i < 100; i++) total += a[i];
            #pragma omp parallel
            {
                #pragma omp critical
                n++;
                #pragma omp single
                n = 2;
                #pragma omp barrier
                #pragma omp master
                n = 3;
                #pragma omp atomic
                n++;
                #pragma omp task shared(n)
                n = 4;
                #pragma omp taskwait
                omp_set_lock(&lock); n++; omp_unset_lock(&lock);
            }
            #pragma omp parallel for
            for (int i = 0; i < 100; i++) a[i] = omp_get_thread_num();
            #pragma omp parallel sections
            {
                #pragma omp section
                n++;
                #pragma omp section
                total++;
            }
        }";
    let module = Source::new("a.c", text).lower(&["-w", "-fopenmp"]);
    assert_eq!(unknown(&module), BTreeSet::new());
    assert!(used(&module).iter().any(|model| model.name == "__kmpc_fork_call"));
}

#[test]
fn c_threads_and_library_are_known() {
    let text = "#include <pthread.h>\n#include <threads.h>\n#include <semaphore.h>\n#include <stdio.h>
        #include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n#include <errno.h>\n#include <assert.h>
        pthread_mutex_t m; pthread_cond_t c; sem_t s; mtx_t cm; pthread_barrier_t b; pthread_key_t k;
        void *work(void *p) { pthread_mutex_lock(&m); while (!p) pthread_cond_wait(&c, &m);
            pthread_mutex_unlock(&m); sem_post(&s); pthread_barrier_wait(&b);
            pthread_setspecific(k, p); return pthread_getspecific(k); }
        int main(int argc, char **argv) { pthread_t t; pthread_create(&t, 0, work, 0);
            char *copy = strdup(argv[0]); printf(\"%s %d\", copy, errno); free(copy);
            snprintf(argv[0], 4, \"%d\", argc); assert(argc); sem_wait(&s); mtx_lock(&cm); mtx_unlock(&cm);
            int *grown = realloc(malloc(4), 8); memcpy(grown, argv, argc); usleep(10);
            pthread_join(t, 0); exit(atoi(argv[1]) + (int)strlen(argv[1])); }";
    let module = Source::new("a.c", text).lower(&["-w"]);
    assert_eq!(unknown(&module), BTreeSet::new());
}
