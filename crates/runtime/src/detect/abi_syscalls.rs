//! The sanitizers' interface for programs that make system calls by themselves: they tell of each before and after it
//! (`sanitizer/linux_syscall_hooks.h`).
//!
//! What is done with it: data that is read and written counts as the functions of the C library count, and so does
//! a fork. All others are there to be called and say nothing. So what other system calls do to the program's memory
//! is not seen.

use std::arch::global_asm;
use std::ffi::c_long;

use super::engine::{Kind, check_range, enter};
use super::intercept::process;
use crate::common::tls;
use crate::interceptor;

macro_rules! silent {
    ($($name:ident)*) => {
        global_asm!(
            $(
                concat!(".globl __sanitizer_syscall_pre_impl_", stringify!($name)),
                concat!(".globl __sanitizer_syscall_post_impl_", stringify!($name)),
                concat!("__sanitizer_syscall_pre_impl_", stringify!($name), ":"),
                concat!("__sanitizer_syscall_post_impl_", stringify!($name), ":"),
            )*
            "ret",
        );
    };
}

silent! {
    time stime gettimeofday settimeofday adjtimex times gettid nanosleep alarm getpid getppid
    getuid geteuid getgid getegid getresuid getresgid getpgid getpgrp getsid getgroups setregid
    setgid setreuid setuid setresuid setresgid setfsuid setfsgid setpgid setsid setgroups acct
    capget capset personality sigpending sigprocmask getitimer setitimer timer_create
    timer_gettime timer_getoverrun timer_settime timer_delete clock_settime clock_gettime
    clock_adjtime clock_getres clock_nanosleep nice sched_setscheduler sched_setparam
    sched_getscheduler sched_getparam sched_setaffinity sched_getaffinity sched_yield
    sched_get_priority_max sched_get_priority_min sched_rr_get_interval setpriority getpriority
    shutdown reboot restart_syscall kexec_load exit exit_group wait4 waitid waitpid
    set_tid_address init_module delete_module rt_sigprocmask rt_sigpending rt_sigtimedwait
    rt_tgsigqueueinfo kill tgkill tkill rt_sigqueueinfo sgetmask ssetmask signal pause sync
    fsync fdatasync bdflush mount umount oldumount truncate ftruncate stat statfs statfs64
    fstatfs fstatfs64 lstat fstat newstat newlstat newfstat ustat stat64 fstat64 lstat64
    setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
    removexattr lremovexattr fremovexattr brk mprotect mremap remap_file_pages msync munmap
    mlock munlock mlockall munlockall madvise mincore pivot_root chroot mknod link symlink
    unlink rename chmod fchmod fcntl fcntl64 pipe pipe2 dup dup2 dup3 ioperm ioctl flock
    io_setup io_destroy io_getevents io_submit io_cancel sendfile sendfile64 readlink creat open
    close access vhangup chown lchown fchown chown16 lchown16 fchown16 setregid16 setgid16
    setreuid16 setuid16 setresuid16 getresuid16 setresgid16 getresgid16 setfsuid16 setfsgid16
    getgroups16 setgroups16 getuid16 geteuid16 getgid16 getegid16 utime utimes lseek llseek
    readv writev preadv pwritev getcwd mkdir chdir fchdir rmdir lookup_dcookie quotactl getdents
    getdents64 setsockopt getsockopt bind connect accept accept4 getsockname getpeername send
    sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg socket socketpair socketcall listen
    poll select old_select epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait
    epoll_pwait2 gethostname sethostname setdomainname newuname uname olduname getrlimit
    old_getrlimit setrlimit prlimit64 getrusage umask msgget msgsnd msgrcv msgctl semget semop
    semctl semtimedop shmat shmget shmdt shmctl ipc mq_open mq_unlink mq_timedsend
    mq_timedreceive mq_notify mq_getsetattr pciconfig_iobase pciconfig_read pciconfig_write
    swapon swapoff sysctl sysinfo sysfs syslog uselib ni_syscall ptrace add_key request_key
    keyctl ioprio_set ioprio_get set_mempolicy migrate_pages move_pages mbind get_mempolicy
    inotify_init inotify_init1 inotify_add_watch inotify_rm_watch spu_run spu_create mknodat
    mkdirat unlinkat symlinkat linkat renameat futimesat faccessat fchmodat fchownat openat
    newfstatat fstatat64 readlinkat utimensat unshare splice vmsplice tee get_robust_list
    set_robust_list getcpu signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime
    eventfd eventfd2 old_readdir pselect6 ppoll fanotify_init fanotify_mark syncfs
    perf_event_open mmap_pgoff old_mmap name_to_handle_at open_by_handle_at setns
    process_vm_readv process_vm_writev vfork sigaction rt_sigaction sigaltstack futex
}

/// The program's memory as the kernel reads or writes it.
fn touched(address: usize, size: c_long, kind: Kind, pc: usize) {
    if size > 0
        && address != 0
        && let Some(mut thread) = enter()
    {
        check_range(&mut thread, address, size as usize, kind, pc);
    }
}

interceptor! {
    fn __sanitizer_syscall_pre_impl_read(_file: c_long, _to: usize, _size: c_long) {}
    fn __sanitizer_syscall_post_impl_read(result: c_long, _file: c_long, to: usize, _size: c_long) {
        touched(to, result, Kind::WRITE, tls::caller());
    }
    fn __sanitizer_syscall_pre_impl_pread64(_file: c_long, _to: usize, _size: c_long, _at: c_long) {}
    fn __sanitizer_syscall_post_impl_pread64(result: c_long, _file: c_long, to: usize, _size: c_long, _at: c_long) {
        touched(to, result, Kind::WRITE, tls::caller());
    }
    fn __sanitizer_syscall_pre_impl_write(_file: c_long, from: usize, size: c_long) {
        touched(from, size, Kind::READ, tls::caller());
    }
    fn __sanitizer_syscall_post_impl_write(_result: c_long, _file: c_long, _from: usize, _size: c_long) {}
    fn __sanitizer_syscall_pre_impl_pwrite64(_file: c_long, from: usize, size: c_long, _at: c_long) {
        touched(from, size, Kind::READ, tls::caller());
    }
    fn __sanitizer_syscall_post_impl_pwrite64(_result: c_long, _file: c_long, _from: usize, _size: c_long, _at: c_long) {}
    fn __sanitizer_syscall_pre_impl_fork() {
        process::before_fork();
    }
    fn __sanitizer_syscall_post_impl_fork(result: c_long) {
        match result {
            0 => process::after_fork_in_child(),
            _ => process::after_fork_in_parent(),
        }
    }
}
