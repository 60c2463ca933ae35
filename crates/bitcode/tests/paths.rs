//! Accesses are spelled as the programmer wrote them.

mod common;

use common::{Source, paths};

const TYPES: &str = "
struct inner { int x; int arr[4]; unsigned b:3; unsigned c:5; signed d:4; };
struct conn { int fd; struct inner peer; struct conn *next; int grid[3][4]; };
union value { int i; char bytes[8]; double d; };
extern struct conn *head;
static int table[10];
extern struct conn first;
void keep(struct conn *c) { (void)c; }
struct conn *find(void);
void use(void *);
";

/// The paths of the accesses of `void f(…) { body }`.
fn of(params: &str, body: &str) -> Vec<String> {
    let text = format!("{TYPES}\nvoid f({params}) {{ {body} }}\n");
    paths(&Source::new("a.c", &text).lower(&["-w"]), "f")
}

#[test]
fn members_through_pointers() {
    assert_eq!(of("struct conn *c", "c->peer.x = 1;"), ["c->peer.x"]);
    assert_eq!(of("struct conn *c", "c->next->fd = 1;"), ["c->next", "c->next->fd"]);
    assert_eq!(of("", "head->fd = 1;"), ["head", "head->fd"]);
    assert_eq!(of("", "first.peer.arr[1] = 1;"), ["first.peer.arr[1]"]);
    assert_eq!(of("int i", "first.peer.arr[i] = 1;"), ["first.peer.arr[i]"]);
    assert_eq!(of("", "find()->fd = 1;"), ["find()->fd"]);
}

#[test]
fn pointers_held_in_variables_go_by_the_variable() {
    assert_eq!(of("", "struct conn *p = head; p->fd = 1;"), ["head", "p->fd"]);
    let body = "for (struct conn *q = c; q; q = q->next) q->fd = 1;";
    assert_eq!(of("struct conn *c", body), ["q->fd", "q->next"]);
}

#[test]
fn array_elements() {
    assert_eq!(of("int i", "table[i] = 1;"), ["table[i]"]);
    assert_eq!(of("int i", "table[i + 1] = 1;"), ["table[i + 1]"]);
    assert_eq!(of("", "table[3] = 1;"), ["table[3]"]);
    assert_eq!(of("struct conn *c, int i", "c->peer.arr[i] = 1;"), ["c->peer.arr[i]"]);
    assert_eq!(of("struct conn *c, int i, int j", "c->grid[i][j] = 1;"), ["c->grid[i][j]"]);
    assert_eq!(of("struct conn *c", "c->grid[2][1] = 1;"), ["c->grid[2][1]"]);
    assert_eq!(of("struct conn *c, int i", "c[i].fd = 1;"), ["c[i].fd"]);
    assert_eq!(of("struct conn *c", "c[2].fd = 1;"), ["c[2].fd"]);
    assert_eq!(of("int *p, int i", "p[i] = 1;"), ["p[i]"]);
    assert_eq!(of("int *p", "*p = 1;"), ["*p"]);
    assert_eq!(of("int **p", "**p = 1;"), ["*p", "**p"]);
}

#[test]
fn bit_fields_are_told_apart() {
    assert_eq!(of("struct conn *c", "c->peer.b = 1;"), ["c->peer.b", "c->peer.b"]);
    assert_eq!(of("struct conn *c", "c->peer.c = 1;"), ["c->peer.c", "c->peer.c"]);
    assert_eq!(of("struct conn *c, int *r", "*r = c->peer.c;"), ["c->peer.c", "*r"]);
    assert_eq!(of("struct conn *c, int *r", "*r = c->peer.d;"), ["c->peer.d", "*r"]);
}

#[test]
fn union_members_by_size() {
    assert_eq!(of("union value *v", "v->d = 1;"), ["v->d"]);
    assert_eq!(of("union value *v", "v->i = 1;"), ["v->i"]);
    assert_eq!(of("union value *v, int k", "v->bytes[k] = 1;"), ["v->bytes[k]"]);
}

#[test]
fn locals_and_copies() {
    let body = "struct inner local; local.x = 1; use(&local);";
    assert_eq!(of("", body), ["local.x"]);
    assert_eq!(of("struct conn *c", "*c = *head;"), ["head", "*c"]);
    assert_eq!(of("struct conn *c", "c->peer = head->peer;"), ["head", "c->peer"]);
}

#[test]
fn references_members_and_bases_in_cpp() {
    let text = "
struct Base { int total; };
namespace app { struct Counter : Base { int hits; static int live; void bump(); }; }
int app::Counter::live;
void app::Counter::bump() { hits++; total = 1; live = 2; }
void f(app::Counter &counter, int &plain) { counter.hits = 1; counter.total = 2; plain = 3; }
";
    let module = Source::new("a.cpp", text).lower(&[]);
    assert_eq!(
        paths(&module, "_ZN3app7Counter4bumpEv"),
        ["this->hits", "this->hits", "this->total", "app::Counter::live"]
    );
    assert_eq!(paths(&module, "_Z1fRN3app7CounterERi"), ["counter.hits", "counter.total", "plain"]);
}

#[test]
fn arguments_of_outside_functions_and_sources_of_copies() {
    let text = format!(
        "{TYPES}\nint lock(void *); void f(struct conn *c, int i) {{
            lock(&c->peer); lock(&table[i]); lock(head); *c = *head; }}\n"
    );
    let module = Source::new("a.c", &text).lower(&["-w"]);
    let function = module.function(module.function_by_symbol("f").expect("f is there"));
    let operands: Vec<&str> = function
        .operand_paths
        .iter()
        .filter_map(|operand| function.operand_path(operand.inst, operand.operand))
        .map(|path| module.name_text(path.text))
        .collect();
    assert_eq!(operands, ["c->peer", "table[i]", "*head", "*head"]);
}

#[test]
fn a_long_chain_of_unnamed_pointers_stays_short() {
    let mut text = "define void @f(ptr %p0) {\n".to_owned();
    let steps = 2000;
    for step in 0..steps {
        text += &format!("  %a{step} = getelementptr i8, ptr %p{step}, i64 8\n");
        text += &format!("  %p{} = load ptr, ptr %a{step}\n", step + 1);
    }
    text += "  ret void\n}\n";
    let source = Source::new("chain.ll", &text);
    let module = racewarden_bitcode::lower_file(source.folder().join("chain.ll")).expect("lowers");
    let paths = paths(&module, "f");
    assert_eq!(paths.len(), steps);
    assert!(paths.iter().all(|path| path.len() < 200), "{}", paths[steps - 1]);
}

/// The names of the fields of `f`'s accesses in the innermost types.
fn inner_fields(source: &Source) -> Vec<String> {
    let module = source.lower(&["-w"]);
    let function = module.functions.iter().find(|function| {
        module.name_text(function.name).contains('f') && !function.is_declaration()
    });
    let function = function.expect("f is defined");
    let paths = function.instructions.iter().filter_map(|inst| inst.path);
    paths.map(|path| module.name_text(function.paths[path.index()].inner).to_owned()).collect()
}

#[test]
fn a_field_has_one_inner_name_whichever_type_it_is_reached_through() {
    let text = "
        struct conn { int fd; struct inner { int x; struct { int y; }; } peer; };
        void f(struct conn *c, struct inner *i) { c->peer.x = 1; i->x = 2; c->peer.y = 3; i->y = 4; }";
    let names = inner_fields(&Source::new("a.c", text));
    assert_eq!(names, ["struct inner.x", "struct inner.x", "struct inner.y", "struct inner.y"]);
    let text = "
        struct Base { int x; };
        struct Derived : Base { int y; };
        void f(Derived *d, Base *b) { d->x = 1; b->x = 2; }";
    let names = inner_fields(&Source::new("a.cpp", text));
    assert_eq!(names, ["struct Base.x", "struct Base.x"]);
}
