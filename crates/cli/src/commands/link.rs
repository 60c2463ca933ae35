//! `racewarden link`: links objects that gcc or clang compiled with `-fsanitize=thread` with our
//! runtime instead of TSan's.

use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use racewarden_capture::Toolchain;
use racewarden_instrument::runtime_link_arguments;

use crate::runtime::RuntimeMode;

#[derive(clap::Args)]
pub struct Args {
    /// Link as C instead of C++
    #[arg(long)]
    c: bool,

    /// Objects, libraries, `-o FILE` and other linker arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "ARGS"
    )]
    arguments: Vec<String>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let toolchain = Toolchain::find()?;
    let driver = if args.c { &toolchain.clang } else { &toolchain.clangxx };
    let archive = RuntimeMode::Detect.archive()?;
    let folder = tempfile::tempdir().context("no temporary folder for the link")?;
    let tool = folder.path().join("tool.s");
    std::fs::write(&tool, tool_source()).with_context(|| tool.display().to_string())?;
    let status = Command::new(driver)
        .arg("-fuse-ld=lld")
        // The flag would bring TSan's own runtime in.
        .args(args.arguments.iter().filter(|argument| !argument.starts_with("-fsanitize")))
        .arg(&tool)
        .args(runtime_link_arguments(&archive))
        .status()
        .with_context(|| format!("cannot run {}", driver.display()))?;
    if !status.success() {
        bail!("linking failed");
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells the program which binary turns its findings into text: this one.
fn tool_source() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let bytes = path.as_os_str().as_encoded_bytes().iter().map(u8::to_string);
    let bytes: Vec<String> = bytes.chain(["0".to_owned()]).collect();
    format!(
        ".section .rodata\n.globl __racewarden_tool\n__racewarden_tool:\n.byte {}\n\
         .section .note.GNU-stack,\"\",@progbits\n",
        bytes.join(",")
    )
}
