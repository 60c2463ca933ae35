//! The text form reads back as it was printed, construct by construct and for any module.

use proptest::prelude::*;
use racewarden_ir::*;

/// Every construct of the text form once.
const EVERYTHING: &str = r#"module "all.c"
note inline_assembly "inline assembly is not modelled: \"nop\""
type ty0 = void
type ty1 = int 32
type ty2 = pointer
type ty3 = struct 16 (0 ty1, 8 ty2)
type ty4 = array 4 ty1
type ty5 = vector 4 ty1
type ty6 = function ty1 (ty2, ty1) variadic
type ty7 = float 64
type ty8 = opaque
type ty9 = int 1
type ty10 = int 128
global @g0 "table" internal ty3 size 16 constant as "ns::table" at "all.c":3:0 = [8 fn1] bytes "01000000000000000000000000000000"
global @g1 "counter" external ty1 size 4 thread_local
global @g2 "tentative" common ty4 size 16 = [] bytes ""
alias "other" weak = fn1
alias "middle" external = (@g2 + 8)
constructors fn1
destructors fn1 fn1
function fn0 "main" external ty1 (ty2 "argv" by_value, ty1 "argc") variadic no_return as "ns::main" at "all.c":10:5 {
bb0:
  %0: ty2 = alloca 16, 1:ty1, "local" at "all.c":11:1
  %1: ty1 = load @g1, 4 volatile acquire at "all.c":11:2 path "counter" "struct s.counter"
  %2: ty0 = store (@g2 + 4), %1, 4 release
  %3: ty1 = rmw add @g1, 1:ty1, 4 seq_cst path "counter" ""
  %4: ty3 = cmpxchg %0, null, arg0, 8 acq_rel relaxed
  %5: ty0 = fence seq_cst
  %6: ty0 = memcpy %0, @g0, 16:ty1
  %7: ty0 = memmove %0, @g0, arg1
  %8: ty0 = memset %0, 0:ty1, 16:ty1
  %9: ty2 = address %0, -8, arg1 * 4, %1 * 16
  %10: ty1 = add %1, 4294967295:ty1
  %11: ty7 = fneg float 4607182418800017408:ty7
  %12: ty1 = sext %1
  %13: ty9 = icmp slt %1, %3
  %14: ty9 = fcmp 4, %11, undef:ty7
  %15: ty1 = select %13, %1, zero:ty1
  %16: ty1 = extractvalue %4, (0, 1)
  %17: ty3 = insertvalue {1:ty1, null}:ty3, unknown:ty2, (1)
  %18: ty1 = extractelement undef:ty5, 0:ty1
  %19: ty5 = insertelement undef:ty5, %1, 0:ty1
  %20: ty5 = shufflevector %19, %19, (0, -1, 2, 3)
  %21: ty1 = freeze %1
  %22: ty1 = va_arg %0
  %23: ty0 = nop
  %24: ty1 = unknown "catchpad" (%1, wide(1, 18446744073709551615):ty10)
  %25: ty1 = call fn1 (%0, 7:ty1) operand 0 "local" "" operand 1 "p->lock" "struct s.lock" ; callee
  %26: ty1 = call indirect %9 () no_return
  %27: ty1 = call virtual %9, %0, 16 (%0)
  %28: ty0 = call asm "lock; \"xadd\" \u{1}\n" memory ()
  %29: ty0 = branch %13, bb1, bb2
bb1:
  %30: ty1 = phi [%1, bb0] [2:ty1, bb3]
  %31: ty0 = switch %30, bb2 [1:ty1, bb3] [2:ty1, bb4]
bb2:
  %32: ty1 = call fn1 (null, 1:ty1) to bb3 unwind bb5 at "all.c":20:1 ; callee
bb3:
  %33: ty0 = jump bb1
bb4:
  %34: ty0 = indirectjump %9, (bb6, bb7)
bb5:
  %35: ty3 = landingpad cleanup
  %36: ty0 = resume %35
bb6:
  %37: ty0 = return %1
bb7:
  %38: ty0 = unreachable
}
function fn1 "callee" external ty1 (ty2 "", ty1 "")
"#;

#[test]
fn every_construct_reads_back() {
    let module = parse(EVERYTHING).expect("the text is well formed");
    assert_eq!(print(&module), EVERYTHING);
    verify(&module).expect("the module is well formed");
}

#[test]
fn errors_name_the_line() {
    let error = |text: &str| parse(text).expect_err("the text is broken").to_string();
    assert_eq!(error("module \"a\"\nwhat"), "line 2: no line starts with what");
    assert_eq!(error("type ty1 = void"), "line 1: ty1 is out of order or a repetition of ty0");
    assert_eq!(error("module \"a"), "line 1: unfinished string");
    assert_eq!(error("type ty0 = void extra"), "line 1: Word(\"extra\") is too much");
    let open = "type ty0 = void\nfunction fn0 \"f\" external ty0 () {\nbb0:\n";
    assert_eq!(error(open), "line 3: the last function is not closed");
    let op = format!("{open}  %0: ty0 = fly\n}}\n");
    assert_eq!(error(&op), "line 4: no operation is called fly");
}

fn value() -> impl Strategy<Value = Value> {
    let ty = || (0..4u32).prop_map(TypeId);
    let leaf = prop_oneof![
        (0..99u32).prop_map(|id| Value::Inst(InstId(id))),
        (0..9u32).prop_map(|id| Value::Arg(ArgId(id))),
        (0..9u32).prop_map(|id| Value::Global(GlobalId(id))),
        Just(Value::Function(FunctionId(0))),
        (any::<u64>(), ty()).prop_map(|(bits, ty)| Value::Int { bits, ty }),
        (any::<u64>(), ty()).prop_map(|(bits, ty)| Value::Float { bits, ty }),
        (any::<[u64; 2]>(), ty())
            .prop_map(|(words, ty)| Value::WideInt { words: words.into(), ty }),
        Just(Value::Null),
        ty().prop_map(|ty| Value::Undef { ty }),
        ty().prop_map(|ty| Value::Zero { ty }),
        ty().prop_map(|ty| Value::Unknown { ty }),
    ];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            (inner.clone(), any::<i64>())
                .prop_map(|(base, offset)| Value::Offset { base: Box::new(base), offset }),
            (prop::collection::vec(inner, 0..4), (0..4u32))
                .prop_map(|(e, ty)| Value::Aggregate { elements: e.into(), ty: TypeId(ty) }),
        ]
    })
}

fn op() -> impl Strategy<Value = Op> {
    let order =
        prop_oneof![Just(None), Just(Some(AtomicOrder::Relaxed)), Just(Some(AtomicOrder::SeqCst))];
    let block = || (0..3u32).prop_map(BlockId);
    prop_oneof![
        (value(), any::<u64>(), order.clone(), any::<bool>()).prop_map(
            |(address, size, order, volatile)| Op::Load { address, size, order, volatile }
        ),
        (value(), value(), any::<u64>(), order, any::<bool>()).prop_map(
            |(address, value, size, order, volatile)| Op::Store {
                address,
                value,
                size,
                order,
                volatile
            }
        ),
        (value(), any::<i64>(), prop::collection::vec((value(), any::<i64>()), 0..3)).prop_map(
            |(base, offset, indices)| Op::Address { base, offset, indices: indices.into() }
        ),
        (value(), prop::collection::vec(value(), 0..3), any::<bool>(), block(), block()).prop_map(
            |(function, arguments, is_invoke, normal, unwind)| Op::Call {
                callee: Callee::Indirect(function),
                arguments: arguments.into(),
                invoke: is_invoke.then_some((normal, unwind)),
                no_return: is_invoke,
            }
        ),
        (prop::collection::vec((value(), block()), 0..3)).prop_map(|edges| Op::Phi {
            incoming: edges.into_iter().map(|(value, block)| Edge { value, block }).collect()
        }),
        prop::option::of(value()).prop_map(|value| Op::Return { value }),
        (value(), prop::collection::vec(any::<u32>(), 0..3))
            .prop_map(|(aggregate, path)| Op::ExtractValue { aggregate, path: path.into() }),
        (value(), value(), prop::collection::vec(any::<i32>(), 0..3))
            .prop_map(|(left, right, mask)| Op::ShuffleVector { left, right, mask: mask.into() }),
    ]
}

fn module() -> impl Strategy<Value = Module> {
    let instruction = (op(), 0..4u32, prop::option::of((0..2u32, any::<u32>(), any::<u32>())));
    (prop::collection::vec(instruction, 1..12), any::<String>(), any::<String>()).prop_map(
        |(instructions, name, other)| {
            let mut module = Module { name: other.clone(), ..Module::default() };
            module.intern("");
            let names = [module.intern(&name), module.intern(&other)];
            for bits in [8, 16, 32, 64] {
                module.types.intern(Type::Int { bits });
            }
            let mut function = Function {
                name: names[0],
                display_name: names[1],
                linkage: Linkage::External,
                result: TypeId(0),
                params: Vec::new(),
                variadic: false,
                no_return: false,
                source: None,
                blocks: vec![Block { start: InstId(0), end: InstId::new(instructions.len()) }],
                instructions: Vec::new(),
                sources: Vec::new(),
                paths: Vec::new(),
                operand_paths: Vec::new(),
                inlined: Vec::new(),
            };
            for (op, ty, source) in instructions {
                let source = source.map(|(file, line, column)| {
                    let file = names[file as usize];
                    function.sources.push(SourceLoc { file, line, column });
                    SourceId::new(function.sources.len() - 1)
                });
                function.instructions.push(Instruction { op, ty: TypeId(ty), source, path: None });
            }
            module.functions.push(function);
            module
        },
    )
}

proptest! {
    #[test]
    fn any_module_reads_back(module in module()) {
        let text = print(&module);
        let read = parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(print(&read), text);
        let (read, written) = (&read.functions[0], &module.functions[0]);
        for (read, written) in read.instructions.iter().zip(&written.instructions) {
            prop_assert_eq!(&read.op, &written.op);
        }
    }

    #[test]
    fn no_text_makes_the_parser_or_verifier_panic(at in 0..EVERYTHING.len(), with in any::<char>()) {
        let mut text: Vec<char> = EVERYTHING.chars().collect();
        text[at] = with;
        let text: String = text.into_iter().collect();
        if let Ok(module) = parse(&text) {
            let _ = verify(&module);
        }
    }
}
