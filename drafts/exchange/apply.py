def sub(p, *pairs):
    s=open(p).read()
    for a,b in pairs:
        assert a in s, (p,a)
        s=s.replace(a,b,1)
    open(p,'w').write(s)
import shutil
for n in ('GradientExchange.h','GradientExchange.cpp'):
    shutil.copy('/tmp/s/run_next/x/'+n,'trainer/'+n)
sub('trainer/AdamW.h',
('''  void gather();
''','''  void gather();
  /// The same of one parameter.
  void gather(size_t parameter);
  /// The elements of gradients() that a parameter has, from and to.
  std::pair<int64_t, int64_t> rangeOf(size_t parameter) const;
'''))
s=open('trainer/AdamW.cpp').read()
s=s.replace('''void AdamW::gather() {''','''std::pair<int64_t, int64_t> AdamW::rangeOf(size_t parameter) const {
  const int64_t begin = begins[parameter];
  return {begin, begin + c10::multiply_integers(shapes[parameter])};
}

void AdamW::gather(size_t parameter) {
  const at::NoGradGuard noGrad;
  at::Tensor &left = parameters[parameter].value.mutable_grad();
  const at::Tensor place = placeOf(gradient, parameter);
  if (!left.defined() || left.const_data_ptr() == place.const_data_ptr())
    return;
  if (rounded.defined())
    place.add_(left);
  else
    place.copy_(left);
  left = rounded.defined() ? at::Tensor() : place;
}

void AdamW::gather() {''',1)
open('trainer/AdamW.cpp','w').write(s)
sub('trainer/DataParallel.h',
('''  DataParallel(const World &world, int64_t bucketBytes);''','''  DataParallel(const World &world, Precision wire);'''),
('''  /// Meets the others. `bucketBytes`: how much of a tensor is under way at once
  /// in one piece.
''','''  /// Meets the others. `wire`: what averages are rounded to on their way.
'''),
('''  /// The mean over the processes of a contiguous floating tensor [n], in place;
  /// the same bits in each of them.
  void average(at::Tensor &values);
''','''  /// Begins to replace a contiguous fp32 tensor [n] by its mean over the
  /// processes, the same bits in each of them. It must not be touched until
  /// finishAverages().
  void beginAverage(const at::Tensor &values);
  /// Waits for all that were begun.
  void finishAverages();
'''),
('''  int64_t bucketBytes;
''','''  Precision wire;
'''))
s=open('trainer/DataParallel.cpp').read()
a=s.index('void DataParallel::average('); b=s.index('std::vector<double> DataParallel::sum')
s=s[:a]+'''void DataParallel::beginAverage(const at::Tensor &values) {
  if (!group)
    return;
  const at::NoGradGuard noGrad;
  explained(world, "has lost the others", lost, [&] {
    // Rounded numbers are divided first: their sum must fit, too.
    const at::Tensor wired =
        wire == Precision::Fp32
            ? values
            : (values / double(world.size)).to(scalarType(wire));
    std::vector<at::Tensor> all = {wired};
    group->averages.push_back({values, wired, group->gloo->allreduce(all)});
  });
}

void DataParallel::finishAverages() {
  if (!group)
    return;
  const at::NoGradGuard noGrad;
  explained(world, "has lost the others", lost, [&] {
    for (const Group::Average &average : group->averages) {
      average.work->wait();
      if (average.wired.scalar_type() == at::kFloat)
        average.values.div_(double(world.size));
      else
        average.values.copy_(average.wired);
    }
  });
  group->averages.clear();
}

'''+s[b:]
s=s.replace('''  World world;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
''','''  /// One under way: `wired` is what is sent, `values` itself in fp32.
  struct Average {
    at::Tensor values, wired;
    c10::intrusive_ptr<c10d::Work> work;
  };

  World world;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  std::vector<Average> averages;
''',1)
s=s.replace('''DataParallel::DataParallel(const World &world, int64_t bucketBytes)
    : world(world), bucketBytes(bucketBytes) {''','''DataParallel::DataParallel(const World &world, Precision wire)
    : world(world), wire(wire) {''',1)
s=s.replace('''} // namespace

struct DataParallel::Group''','''at::ScalarType scalarType(Precision precision) {
  return precision == Precision::Bf16   ? at::kBFloat16
         : precision == Precision::Fp16 ? at::kHalf
                                        : at::kFloat;
}

} // namespace

struct DataParallel::Group''',1)
open('trainer/DataParallel.cpp','w').write(s)
sub('trainer/Config.h',('  double bucketMegabytes = 25;','  Precision wirePrecision = Precision::Fp32; ///< Of exchanged gradients.\n  double bucketMegabytes = 25;'))
sub('trainer/settings/Table.cpp',
('''const std::vector<Choice> schedules = {''','''const std::vector<Choice> wirePrecisions = {
    choice("off", Precision::Fp32), choice("bf16", Precision::Bf16),
    choice("fp16", Precision::Fp16)};
const std::vector<Choice> schedules = {'''),
('''      Entry::of("runtime.ddp_bucket_mb",''','''      Entry::oneOf("runtime.ddp_compress", MEMBER(wirePrecision),
                   wirePrecisions,
                   "what gradients are rounded to on their way between "
                   "processes; off: fp32")
          .twin("NSA_DDP_COMPRESS")
          .announced(),
      Entry::of("runtime.ddp_bucket_mb",'''))
sub('trainer/Train.cpp',('DataParallel parallel(world, int64_t(given.bucketMegabytes * 1e6));','DataParallel parallel(world, given.wirePrecision);'))
sub('trainer/Run.h',('#include "trainer/DataParallel.h"\n','#include "trainer/GradientExchange.h"\n'),
('  RunControl control;\n','  RunControl control;\n  GradientExchange exchange;\n'))
s=open('trainer/Run.cpp').read()
s=s.replace('''      writer(config, corpus.hash''','''      exchange(model.parameters(), optimizer, parallel,
               int64_t(config.bucketMegabytes * 1e6)),
      writer(config, corpus.hash''',1)
s=s.replace('''    loss += backward(''','''    if (i + 1 == config.accumulate)
      exchange.beginLast();
    loss += backward(''',1)
s=s.replace('''  parallel.average(optimizer.gradients());
''','''  exchange.finish();
''',1)
s=s.replace('''       clock},
''','''       clock, exchange.bucketsBeside(), exchange.bucketCount()},
''',1)
open('trainer/Run.cpp','w').write(s)
sub('trainer/Telemetry.h',('  StageClock stages;\n','  StageClock stages;\n  /// Pieces of the gradients that were under way before the backward pass was\n  /// over, of all; 0 of 0 in one process.\n  int64_t bucketsBeside = 0, buckets = 0;\n'))
sub('trainer/Telemetry.cpp',('''    record(json);
  }
''','''    if (r.buckets > 0) {
      json["buckets"] = r.buckets;
      json["buckets_beside"] = r.bucketsBeside;
    }
    record(json);
  }
'''))
sub('trainer/CMakeLists.txt',('Finish.cpp\n       Generate.cpp','Finish.cpp\n       Generate.cpp GradientExchange.cpp'))
sub('tests/train/RanksTest.cpp',('''// The variables of torchrun and their like.''','''// Most gradients of the last layers are under way while those of the first are
// computed.
TEST_F(Ranks, GradientsAreExchangedBesideTheBackwardPass) {
  expectFine(run("one", {"train.batch_size=2", "train.accumulate=4"}));
  for (const char *precision : {"fp32", "bf16"}) {
    const std::string out = std::string("two") + precision;
    expectFine(runRanks(2, out,
                        {"train.batch_size=4", "train.accumulate=2",
                         "runtime.ddp_bucket_mb=0.01",
                         std::string("runtime.precision=") + precision}));
    std::istringstream in(readFile(folder.file(out + "/metrics.jsonl")));
    int lines = 0;
    for (std::string line; std::getline(in, line); ++lines) {
      const nlohmann::json record = nlohmann::json::parse(line);
      EXPECT_GT(record["buckets"], 8) << line;
      EXPECT_GE(2 * record["buckets_beside"].get<int>(),
                record["buckets"].get<int>())
          << line;
    }
    EXPECT_EQ(lines, 12);
  }
  expectEqual("one", "twofp32", 12);
}

TEST_F(Ranks, GradientsMayBeRoundedOnTheirWay) {
  const std::vector<std::string> settings = {"train.batch_size=4",
                                             "train.steps=40", "train.lr=0.01"};
  expectFine(runRanks(2, "off", settings));
  for (const char *wire : {"bf16", "fp16"}) {
    std::vector<std::string> all = settings;
    all.push_back(std::string("runtime.ddp_compress=") + wire);
    expectFine(runRanks(2, wire, all));
    const auto exact = steps("off"), rounded = steps(wire);
    ASSERT_EQ(exact.size(), rounded.size());
    for (size_t i = 0; i < exact.size(); ++i)
      EXPECT_NEAR(rounded[i].first / exact[i].first, 1, 2e-2) << i + 1;
    // Rounded, indeed.
    EXPECT_NE(exact[1].second, rounded[1].second);
  }
}

// The variables of torchrun and their like.'''))
sub('docs/training.md',
("""Each process takes an equal part of `train.batch_size` and computes its gradients;
after the last micro-batch of a step their means are exchanged over Gloo, in pieces
of `runtime.ddp_bucket_mb`, and all make the same update.""","""Each process takes an equal part of `train.batch_size` and computes its gradients;
in the last micro-batch of a step each piece of `runtime.ddp_bucket_mb` is averaged over
Gloo as soon as the backward pass has all of it (`buckets_beside` of `buckets` in
`metrics.jsonl` went out before that pass was over), and all make the same update.
`runtime.ddp_compress` rounds the pieces to `bf16` or `fp16` on their way; sums then are
no longer those of one process."""),
("| `NSA_FORCE_BRANCH`, `NSA_FORCE_UNIFORM_GATE`, `NSA_DDP_BUCKET_MB`,","| `NSA_FORCE_BRANCH`, `NSA_FORCE_UNIFORM_GATE`, `NSA_DDP_BUCKET_MB`, `NSA_DDP_COMPRESS`,"))
sub('docs/parity.md',
("| gradients compressed to bf16 on the wire | M | none: not built, they are exchanged in fp32 |","| gradients compressed to bf16 on the wire | M | `Ranks.GradientsMayBeRoundedOnTheirWay` |"),
("gradients are exchanged once, after the last micro-batch |","each gradient is exchanged once, in the last micro-batch: `Ranks.GradientsAreExchangedBesideTheBackwardPass` |"))
s=open('docs/roadmap.md').read()
s=s.replace(" gradients reduced beside the backward pass and in bf16,\n   ZeRO-1,"," ZeRO-1,",1)
s=s.replace("  exchange of gradients beside the backward pass or in bf16, a soak of two processes;","  a soak of two processes;",1)
open('docs/roadmap.md','w').write(s)
