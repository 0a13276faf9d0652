// compiler/semantics/Lowering.h - the visitor that turns a kernel into IR.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Types are found while ops are emitted, in one walk: a name stands for a
// Value, compile-time values fold, and only what depends on run-time values
// becomes IR. Statements.cpp runs statements, Control.cpp builds scf.if and
// scf.for, Expressions.cpp, Names.cpp and Calls.cpp evaluate expressions.
#pragma once

#include "compiler/semantics/Builtins.h"
#include "compiler/semantics/Emitter.h"
#include "compiler/semantics/ValueLog.h"
#include "language/Program.h"
#include "language/Request.h"
#include "support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <map>

namespace tessera::semantics {

// How the reason of a loop's variable begins in Frame::lost.
inline constexpr std::string_view loopVariable =
    "it is the variable of the loop of ";

class Lowering final : public ErrorReporter {
public:
  Lowering(mlir::MLIRContext &context, const language::Program &program,
           const language::CompileRequest &request,
           std::vector<Diagnostic> *notes, ValueLog *values);

  mlir::OwningOpRef<mlir::ModuleOp> run();

  [[noreturn]] void report(DiagnosticId id, const SourceRange &range,
                           std::string message, std::string hint) override;
  void note(DiagnosticId id, const SourceRange &range,
            std::string message) override;
  std::optional<Value> attribute(const Value &value, const std::string &name,
                                 const SourceRange &range) override;
  Value call(const Value &function, std::vector<Value> arguments,
             const SourceRange &range) override;
  Value callOnElements(const Value &function, std::vector<Value> arguments,
                       const Shape &shape, const SourceRange &range) override;

private:
  struct Variable {
    Value value;
    SourceRange where; // of the assignment
  };
  using Scope = std::map<std::string, Variable, std::less<>>;

  /// A function being visited: the kernel, or a callee inlined into it.
  struct Frame {
    const language::FunctionDef *function = nullptr;
    std::shared_ptr<const SourceFile> file;
    Scope scope;
    /// Why a name that was assigned somewhere has no value here.
    std::map<std::string, std::string, std::less<>> lost;
    SourceRange callRange; // in the caller
    std::optional<mlir::Location> callLocation;
    unsigned loopDepth = 0;
    /// A constexpr_function: names keep compile-time values.
    bool compileTime = false;
  };

  /// What is left to do: a block from `next` on, then `after`.
  struct Rest {
    const language::Block *block = nullptr;
    size_t next = 0;
    const Rest *after = nullptr;
  };

  /// How statements ended: with `return value`, or by running out.
  struct Outcome {
    bool returned = false;
    Value value;
    SourceRange range;
  };

  /// The place of a node, for errors and locations, while it is visited.
  class At {
  public:
    At(Lowering &lowering, const SourceRange &range);
    ~At();

  private:
    Lowering &lowering;
    Site saved;
  };

  /// The function a helper call enters, left on destruction.
  class Entered {
  public:
    Entered(Lowering &lowering, Frame &frame);
    ~Entered();

  private:
    Lowering &lowering;
  };

  Frame &frame() { return *frames.back(); }
  mlir::Location locate(const SourceRange &range);
  [[noreturn]] void fail(DiagnosticId id, const SourceRange &range,
                         std::string message, std::string hint = "");

  // Lowering.cpp.
  Value fromSyntax(const language::Value &value, const SourceRange &range);

  // KernelArguments.cpp: the kernel's signature.
  void bindKernel(const language::FunctionDef &kernel, mlir::ModuleOp module);
  void checkNames(const language::FunctionDef &kernel);
  Type typeOfArgument(const language::Argument &argument,
                      const language::Parameter &parameter);
  /// The leaves of a parameter: their arguments in order, their values, and
  /// which of the names before their fields are descriptors.
  struct Leaves {
    std::vector<const language::Argument *> given;
    std::map<std::string, Value> values;
    std::vector<std::string> descriptors;
  };
  /// The value of a parameter or of a field from the leaves that it has.
  Value tupleOf(const std::string &name, const Leaves &leaves);
  Value descriptorOf(const std::string &name, const Leaves &leaves);
  /// A class of tuples whose values have these names.
  const language::FunctionDef &
  fieldsNamed(const std::vector<std::string> &names);

  // Statements.cpp.
  Outcome run(Rest rest);
  void visitBlock(const language::Block &block);
  /// All statements but Return and those Ifs that contain one.
  void visit(const language::Stmt &stmt);
  void assign(const language::Expr &target, Value value);
  void assignName(const std::string &name, Value value, SourceRange where);
  void visitAnnAssign(const language::AnnAssign &stmt);
  Value materialize(const Value &value);
  void visitAssert(const language::Assert &stmt);
  [[noreturn]] void visitRaise(const language::Raise &stmt);
  static bool containsReturn(const language::Stmt &stmt);
  static bool containsReturn(const language::Block &block);

  // Control.cpp.
  void visitIf(const language::If &stmt);
  /// A compile-time condition, or the int1 scalar to branch on.
  struct Condition {
    std::optional<bool> known;
    Tensor value;
  };
  Condition condition(const language::Expr &test, std::string_view statement);
  Outcome branchWithReturn(const language::If &stmt, const Condition &test,
                           const Rest &rest);
  void mergeArms(const Scope &before, Scope &thenScope, Scope &elseScope,
                 const language::If &stmt, std::vector<std::string> &names);
  mlir::Operation *finishIf(mlir::Operation *prototype,
                            const std::vector<mlir::Value> &thenParts,
                            const std::vector<mlir::Value> &elseParts);
  Value joinArms(mlir::Operation *prototype, const Value &thenValue,
                 const Value &elseValue);
  void visitFor(const language::For &stmt);
  std::vector<Value> rangeValues(const language::For &stmt, const Range &range);
  void loop(const language::For &stmt, const Range &range);
  void checkCarried(const std::string &name, const Variable &before,
                    const Variable &after);
  Value conditional(const language::IfExp &expr);

  /// The state before a loop, and the names that the loop changes.
  struct LoopStart {
    Scope scope;
    std::map<std::string, std::string, std::less<>> lost;
    mlir::OpBuilder::InsertPoint place;
    std::vector<std::string> names;
  };

  // While.cpp: while loops, and what all loops need.
  void visitWhile(const language::While &stmt);
  /// A `while` whose condition emits its test, a scalar or a block, or returns
  /// nullopt if it is known to be false.
  void whileLoop(const SourceRange &range,
                 const std::function<std::optional<Tensor>()> &condition,
                 const std::function<void()> &body);
  /// The test of a while loop as an int1 scalar: true while it is true for any
  /// element.
  Tensor anyElement(const Tensor &test);
  LoopStart startLoop();
  /// Goes back to the scope and the place before the loop.
  void restart(const LoopStart &start);
  /// The values of the loop's names before the loop.
  std::vector<mlir::Value> initialParts(const LoopStart &start);
  /// Gives the loop's names these values in the current scope.
  void bindNames(const LoopStart &start, mlir::ValueRange values);
  /// Ends the body: yields the names' values, after checks. With `active`,
  /// elements for which it is false keep the values they have in `entered`.
  void yieldNames(const LoopStart &start, const Tensor *active = nullptr,
                  const Scope *entered = nullptr);
  /// Records that names which only the body assigns have no value after it.
  void loseNames(const Scope &body, const LoopStart &start,
                 const SourceRange &range);
  /// Names of `before` that the scope now gives other values, with checks;
  /// without `except` and those that `carried` already has.
  std::vector<std::string>
  changedNames(const Scope &before, const SourceRange &loop,
               const std::string &except,
               const std::vector<std::string> &carried = {});
  /// True if the body that has just been visited changes more names than
  /// `start` has, which gets them. Then the loop is erased and visited again.
  ///
  /// The draft finds what the body changes when every name has its first value.
  /// It misses the rest: with p = q before the loop, `p = q; q = f(q)` changes
  /// p in the second round only, and so does code behind an `if` whose
  /// condition is known in the first round.
  bool carriesMore(LoopStart &start, mlir::Operation *loop,
                   const SourceRange &range, const std::string &except);

  // Elementwise.cpp: the function that tl.map_elementwise calls.
  /// Numbers as blocks, where elements are gone over; else as they are.
  Value spread(const Value &value);
  void checkOnElements(const Builtin &builtin, const SourceRange &range);
  Value selectParts(const Tensor &condition, const Value &yes, const Value &no);
  void forOnElements(const language::For &stmt, const Range &range);

  // CompileTime.cpp: the body of a constexpr_function.
  enum class Flow { Next, Break, Continue, Return };
  Flow runAtCompileTime(const language::Block &block, Outcome &outcome);
  Flow loopAtCompileTime(const language::Stmt &stmt, Outcome &outcome);
  bool knownCondition(const language::Expr &test);

  // Expressions.cpp.
  /// Fails when the kernel unrolls without bound.
  void countStep(const SourceRange &range);
  Value evaluate(const language::Expr &expr);
  Value evaluateHere(const language::Expr &expr);
  Value compare(const language::Compare &expr);
  Value compareTwo(language::CompareOp op, const Value &a, const Value &b);
  Value binary(BinaryOp op, const Value &a, const Value &b);
  Value boolOp(const language::BoolOp &expr);
  Value subscript(const language::Subscript &expr);
  Value joined(const language::JoinedStr &expr);
  Value comprehension(const language::Comprehension &expr);
  Value indexTuple(const Value &tuple, const language::Expr &index);
  Value indexDict(const Dict &dict, const language::Expr &index);

  // Names.cpp.
  Value lookUp(const language::Name &name);
  std::string unknownNameHint(const std::string &name);
  std::optional<Value> global(std::string_view name, const SourceRange &range);
  Value attribute(const Value &value, const language::Attribute &expr);
  Value member(const std::string &module, const std::string &name,
               const SourceRange &range);
  [[noreturn]] void failUnknownMember(const std::string &module,
                                      const std::string &name,
                                      const SourceRange &range);
  Value typeAttribute(const Type &type, const language::Attribute &expr);

  // Calls.cpp.
  Value call(const language::Call &expr);
  std::vector<Argument> arguments(const language::Call &expr);
  [[noreturn]] void failNotCallable(const language::Call &expr,
                                    const Value &function);
  [[noreturn]] void failDynamicArgument(const language::FunctionDef &callee,
                                        const Argument &argument);
  Value inlineCall(const language::FunctionDef &callee,
                   std::vector<Argument> given, const SourceRange &range);
  /// The frame of a call. Fails at more than 64 calls inside each other.
  Frame newFrame(const language::FunctionDef &callee, const SourceRange &range);
  /// The value of a call of a class: a tuple with named fields.
  Value makeFields(const language::FunctionDef &type,
                   std::vector<Argument> given, const SourceRange &range);
  std::vector<Value> runInit(const language::FunctionDef &type,
                             const language::FunctionDef &init,
                             std::vector<Argument> given,
                             const SourceRange &range);
  void checkField(const language::FunctionDef &type,
                  const language::Parameter &field, const Value &value,
                  const SourceRange &range);
  Value replaceFields(std::vector<Argument> given, const SourceRange &range);
  /// Calls a function such as `__add__` of an aggregate; nullopt for another
  /// value, and if the class does not have the function.
  std::optional<Value> classOperator(const std::string &name,
                                     const Value &owner,
                                     std::vector<Value> arguments);
  /// Calls `__add__` of `a`, else `__radd__` of `b`.
  std::optional<Value> classOperator(const std::string &name,
                                     const std::string &reflected,
                                     const Value &a, const Value &b);
  void bindParameters(const language::FunctionDef &callee,
                      std::vector<Argument> given, Frame &frame);

  const language::Program &program;
  const language::CompileRequest &request;
  std::vector<Diagnostic> *notes;
  ValueLog *values; // null if no caller wants the log
  Emitter emit;
  std::vector<Frame *> frames;
  std::map<std::vector<std::string>, std::unique_ptr<language::FunctionDef>>
      fieldLists;
  const language::Expr *current = nullptr; // being evaluated
  std::optional<Shape> elements; // of tl.map_elementwise while it is inlined
  unsigned onSomeElements = 0;   // > 0: in an arm or loop of some of them
  uint64_t steps = 0;            // statements and expressions visited so far
  unsigned dryRuns = 0; // > 0: visiting a loop body to see what it assigns
};

} // namespace tessera::semantics
