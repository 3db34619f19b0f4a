"""Correctness and speed of the fused tower, beside TorchEvaluator."""
import sys, time, os
import multiprocessing
from dataclasses import replace
import torch
from meijin import make
from meijin.core.nvrtc import compiled
from meijin.learning.nets.config import NetConfig
from meijin.learning.nets.plan import Plan
from meijin.learning.zero.fused import Shape, Tower, chosen, code
from meijin.learning.zero.inference import TorchEvaluator, InferenceNet
from meijin.learning.zero.nets import Net

TOWERS = {"connect_four": (5, 64), "othello": (6, 96), "go": (6, 96)}
began = time.time()
torch.backends.cudnn.allow_tf32 = False
torch.backends.cuda.matmul.allow_tf32 = False

def log(*a):
    print(f"[{time.time()-began:5.1f}]", *a, flush=True)

def rand_net(game, cfg):
    torch.manual_seed(1)
    net = Net(make(game), cfg)
    for m in net.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(m.weight, 0.5, 1.2); torch.nn.init.normal_(m.bias, std=0.2); m.momentum = 1.0
    for h in (net.policy.planes, net.policy.words, net.policy.flat, net.value.values):
        if h is not None: torch.nn.init.normal_(h.weight, std=0.1)
    net.train().cuda()
    with torch.no_grad(): net(planes(net, 512))
    for m in net.modules():
        if isinstance(m, torch.nn.BatchNorm2d): m.momentum = 0.1
    return net.eval()

def planes(net, n):
    return (torch.rand(n, net.game.num_planes, len(net.game.board.cells), device="cuda") < 0.3).float()

def base(name, kind):
    p = Plan(make(name), config(name)); l = p.layout
    return Shape(p.channels, p.config.blocks, l.rows, l.columns, l.planes, p.policy_width, p.value_width, kind)

def config(name): return NetConfig(*TOWERS[name], policy_channels=4, value_channels=4, value_hidden=32)

def build(c):
    try: compiled(c, "tower", "sm_90a")
    except Exception as e: log("compile", str(e)[:2000])
    return 0

def graph_time(work, n=20):
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        for _ in range(3): work()
        torch.cuda.synchronize()
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g, stream=s): work()
        ts = []
        for _ in range(7):
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record(s)
            for _ in range(n): g.replay()
            b.record(s); b.synchronize(); ts.append(a.elapsed_time(b) / n * 1e3)
    return sorted(ts)[3]

def rel(a, b): return float((a.float() - b.float()).norm() / b.float().norm())

def reference(net, x):
    with torch.no_grad():
        g, _ = net.place(x); y = net.stem.relu(g, None, None)
        for b in net.blocks: y = b(y, None, 0)
        p = net.policy.unit.relu(y, None); v = net.value.unit.relu(y, None)
        lo, va = net(x)
        return [z.flatten(2).transpose(1, 2) for z in (p, v)] + [lo, va]

class Fused:
    def __init__(self, net, shape, batch):
        self.tower = Tower(net, shape, batch, torch.device("cuda", 0)); self.inf = InferenceNet(net, torch.float16, align=8).cuda()
        self.x = planes(net, batch); self.logits = torch.zeros(batch, net.game.num_moves, device="cuda"); self.values = torch.zeros(batch, net.game.seats, device="cuda")
    def tower_only(self): self.tower.run(self.x)
    def step(self):
        with torch.inference_mode():
            t, n, s = self.tower, self.inf.net, self.tower.shape
            t.run(self.x)
            p, v = (z.view(t.batch, s.height, s.width, -1).permute(0, 3, 1, 2) for z in (t.policy, t.value))
            self.logits.copy_(n.policy.answer(p, n.layout.on_board, n.index)); self.values.copy_(n.value.answer(v, n.layout.on_board, False)[0])

def plan(variants, batches, kinds, towers):
    jobs = []
    for n in towers:
        for kind in kinds:
            for batch in batches:
                for v in variants.get(n, [{}]):
                    own = {k: x for k, x in v.items() if k in ("workers", "delay")}
                    shape = chosen(replace(base(n, kind), **own), batch, 132)
                    if shape is None: log("nothing fits", n, kind, v); continue
                    force = {k: x for k, x in v.items() if k not in own}
                    shape = replace(shape, **force)
                    if shape.shared > 227 * 1024: log("too large", n, kind, v); continue
                    jobs.append((n, kind, batch, shape, v))
    return jobs

def main(jobs, baseline=None, towers=TOWERS):
    unique = {code(j[3]) for j in jobs}
    log(len(jobs), "jobs", len(unique), "kernels")
    with multiprocessing.get_context("fork").Pool(15) as pool: pool.map(build, unique, 1)
    log("compiled")
    log(torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).multi_processor_count, torch.__version__)
    nets = {n: rand_net(n, config(n)) for n in towers}
    batches = baseline or []
    if baseline:
        for n, net in nets.items():
            for batch in batches:
                e = TorchEvaluator(net, batch, device="cuda", graph=False); e.x.copy_(planes(net, batch))
                torch.backends.cudnn.benchmark = True
                us = graph_time(lambda: e.run())
                log(f"{n:13s} torch f16          batch {batch:5d}: {us:8.1f} us {batch/us:6.2f} M/s")
                if batch == batches[0]:
                    r = reference(net, e.x); log("   rel error of torch logits, values", [f"{rel(a,b):.1e}" for a, b in zip((e.logits, e.values), r[2:])])
    for n, kind, batch, shape, w in jobs:
        net = nets[n]
        try:
            f = Fused(net, shape, batch)
            f.tower.policy.fill_(float("nan")); f.tower.value.fill_(float("nan"))
            f.step(); torch.cuda.synchronize()
            r = reference(net, f.x)
            errs = [rel(a, b) for a, b in zip((f.tower.policy, f.tower.value, f.logits, f.values), r)]
            first = f.tower.policy.clone(); same = True
            for _ in range(3): f.step(); torch.cuda.synchronize(); same &= torch.equal(first, f.tower.policy)
            ut, us = graph_time(f.tower_only), graph_time(f.step)
            log(f"{n:13s} {kind:4s} {str(w):24s} batch {batch:5d}: tower {ut:7.1f} all {us:7.1f} us {batch/us:6.2f} M/s (tower {batch/ut:6.2f}) nb{shape.boards} T{shape.tiles} taps{shape.taps}/{shape.split} st{shape.stages} err", *[f"{e:.1e}" for e in errs], "" if same else "UNSTABLE")
        except Exception as e:
            log(n, kind, batch, w, "FAILED", str(e)[:300]); 
            if "CUDA" in str(e): raise
