// A whole residual tower in one kernel, for Hopper (sm_90a): activations stay in shared memory, weights stream past.
//
// Each of two warpgroups has BOARDS boards to itself, side by side in lines that a column of zeros divides, with a
// line of zeros above and below. A row of shared memory is 16 bytes: a chunk of the channels of one place. A plane is
// that chunk for all places. Moving by one place moves the start address that `wgmma` reads from by 16 bytes, so that
// the nine taps of a convolution are nine addresses. A third warpgroup does nothing but fetch weights.
//
// From outside come, as macros: CHANNELS, BLOCKS, HEIGHT, WIDTH, and CELLS, of which there are fewer than places where
// the board is no rectangle; PLANES of the input, without the one that is 1 on the board, and INPUTS, which is PLANES and
// that one, rounded up to a multiple of 16; POLICY and VALUE, channels of the heads' first layers, and HEADS, both
// together rounded up to a multiple of 8; INT8: whether the tower computes with bytes (activations u8, weights s8) rather
// than in half precision; BOARDS of a worker; STAGES of weights in shared memory, each of them TAPS of a convolution, or
// one of SPLIT parts of a tap; SHARED_BYTES. As functions come the instructions mma_half (N = CHANNELS), for INT8 also
// mma_bytes (the same), and mma_heads (N = HEADS, its left side in registers).

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;

#if INT8
typedef int Sum;
#else
typedef float Sum;
#endif

constexpr int WORKERS = 2;
constexpr int PITCH = WIDTH + 1, LINE = BOARDS * PITCH, PLACES = HEIGHT * WIDTH;
constexpr int STEP = WIDTH == 8 ? PITCH : 8;  // places between groups of eight rows: on 8 columns none is wasted
constexpr int GROUPS = WIDTH == 8 ? HEIGHT * BOARDS : (HEIGHT * LINE + 7) / 8;
constexpr int TILES = (GROUPS + 7) / 8;
constexpr int FIRST = 1 + LINE;  // the place of the first cell: a zero and a line of zeros come before it
constexpr int DUMP = FIRST + (TILES * 8 - 1) * STEP + 8 + LINE + 1;  // where rows are written that are no cells
constexpr int ROWS = (DUMP + 1 + 7) / 8 * 8;
constexpr int PER_CHUNK = INT8 ? 16 : 8;
constexpr int CHUNKS = CHANNELS / PER_CHUNK;
constexpr int LAYERS = 2 * BLOCKS + 1;
constexpr int STEM_STAGE = TAPS * INPUTS * CHANNELS * 2;
constexpr int STAGE = TAPS * CHANNELS * CHANNELS * (INT8 ? 1 : 2) / SPLIT;

constexpr int ACT_BYTES = CHUNKS * ROWS * 16;
constexpr int REST_BYTES = TILES * (CHANNELS / 16) * 2048;  // the shortcut, each thread its own
constexpr int HEAD_BYTES = HEADS * CHANNELS * 2;
constexpr int LAYER = INT8 ? 3 * CHANNELS : CHANNELS;  // numbers of a layer: biases; then factors and scales
constexpr int NUMBERS = LAYERS * LAYER + HEADS;
constexpr int AT_ACT = STAGES * STAGE;
constexpr int AT_REST = AT_ACT + WORKERS * ACT_BYTES;
constexpr int AT_HEAD = AT_REST + WORKERS * REST_BYTES;
constexpr int AT_NUMBERS = AT_HEAD + HEAD_BYTES;
constexpr int AT_BARRIERS = (AT_NUMBERS + NUMBERS * 4 + 7) / 8 * 8;
constexpr int SHARED = AT_BARRIERS + 16 * STAGES;

static_assert(SHARED == SHARED_BYTES, "whoever launches this counts otherwise");

#define DEVICE __device__ __forceinline__

DEVICE u32 address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

DEVICE void barrier_init(u32 at, u32 count) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(count)); }

DEVICE void barrier_wait(u32 at, u32 phase) {
    asm volatile(
        "{\n.reg .pred p;\nagain:\n"
        "mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra done;\nbra again;\ndone:\n}" ::"r"(at), "r"(phase)
        : "memory");
}

DEVICE void barrier_arrive(u32 at) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory"); }

DEVICE void fetch(u32 to, const void* from, u32 bytes, u32 barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from),
        "r"(bytes), "r"(barrier)
        : "memory");
}

DEVICE void together(int worker) { asm volatile("bar.sync %0, 128;" ::"r"(worker + 1) : "memory"); }
DEVICE void shared_to_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void mma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
DEVICE void mma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// A matrix in shared memory: rows of 16 bytes, groups of eight rows `group` bytes apart, chunks `chunk` bytes apart.
template <int group, int chunk>
DEVICE u64 matrix(u32 at) {
    return ((u64)(group >> 4) << 32) | (u32)((chunk >> 4) << 16) | (at >> 4);
}

DEVICE u32 halves(float a, float b) {
    u32 r;
    asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
    return r;
}

DEVICE float2 floats(u32 h) {
    float2 r;
    asm("{\n.reg .f16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}"
        : "=f"(r.x), "=f"(r.y)
        : "r"(h));
    return r;
}

// Four numbers as bytes, 0 where they are negative.
DEVICE u32 rounded(float a, float b, float c, float d) {
    const float least = 12582912.0f, most = least + 255.0f;  // 1.5 * 2^23: the last bits are the integer
    u32 i = __float_as_uint(fminf(fmaxf(a + least, least), most)), j = __float_as_uint(fminf(fmaxf(b + least, least), most));
    u32 k = __float_as_uint(fminf(fmaxf(c + least, least), most)), l = __float_as_uint(fminf(fmaxf(d + least, least), most));
    return __byte_perm(__byte_perm(i, j, 0x0040), __byte_perm(k, l, 0x0040), 0x5410);
}

DEVICE void store_matrices(u32 at, u32 a, u32 b, u32 c, u32 d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(a), "r"(b), "r"(c),
                 "r"(d)
                 : "memory");
}

struct Ring {
    u32 stages, full, empty;
    int slot, phase;

    DEVICE void next() {
        if (++slot == STAGES) slot = 0, phase ^= 1;
    }
};

DEVICE void multiply(float (&sum)[CHANNELS / 2], u64 a, u64 b) { mma_half(sum, a, b); }
#if INT8
DEVICE void multiply(int (&sum)[CHANNELS / 2], u64 a, u64 b) { mma_bytes(sum, a, b); }
#endif

// One convolution of all tiles of a worker. `STEM`: of the input, which is in half precision always.
template <bool STEM, typename T>
DEVICE void convolve(T (&sum)[TILES][CHANNELS / 2], Ring& ring, u32 act, bool leader) {
    constexpr int PARTS = STEM ? 1 : SPLIT, PASSES = 9 / TAPS * PARTS;
    constexpr int STEPS = STEM ? INPUTS / 16 : CHANNELS / (INT8 ? 32 : 16) / SPLIT;
#pragma unroll
    for (int t = 0; t < TILES; t++)  // not left to the first product: what is in use would seem to be twice as much
#pragma unroll
        for (int i = 0; i < CHANNELS / 2; i++) sum[t][i] = 0;
    mma_fence();
    int before = 0;
#pragma unroll 1
    for (int pass = 0; pass < PASSES; pass++) {
        barrier_wait(ring.full + 8 * ring.slot, ring.phase);
        u32 weights = ring.stages + ring.slot * STAGE;
        u32 from = act;
        if (TAPS == 3) from += (pass - 1) * LINE * 16 - 16;
        if (TAPS == 1) {
            int tap = pass / PARTS;
            from += ((tap / 3 - 1) * LINE + tap % 3 - 1 + pass % PARTS * STEPS * 2 * ROWS) * 16;
        }
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++)
#pragma unroll
            for (int k = 0; k < STEPS; k++)
#pragma unroll
                for (int t = 0; t < TILES; t++) {
                    u32 shift = (t * 8 * STEP + tap / 3 * LINE + tap % 3 + k * 2 * ROWS) * 16;
                    u64 a = matrix<STEP * 16, ROWS * 16>(from + shift);
                    u64 b = matrix<128, CHANNELS * 16>(weights + (tap * STEPS + k) * 2 * CHANNELS * 16);
                    multiply(sum[t], a, b);
                }
        mma_commit();
        if (pass) {
            mma_wait<1>();
            if (leader) barrier_arrive(ring.empty + 8 * before);
        }
        before = ring.slot;
        ring.next();
    }
    mma_wait<0>();
    if (leader) barrier_arrive(ring.empty + 8 * before);
}

// What becomes of the sums: factor, bias, shortcut, ReLU; written over the activations and kept as the next shortcut.
template <bool ADD, bool KEEP, typename T>
DEVICE void finish(T (&sum)[TILES][CHANNELS / 2], const float* numbers, uint4* rest, const u32 (&rows)[TILES],
                   int lane) {
    numbers += lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < CHANNELS / 32; j++) {
        float2 bias[4], factor[4], scale[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float2* from = (const float2*)(numbers + 32 * j + 8 * i);
            bias[i] = from[0];
            if (INT8) factor[i] = from[CHANNELS / 2];
            if (INT8 && KEEP) scale[i] = from[CHANNELS];
        }
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            float v[16];
#pragma unroll
            for (int i = 0; i < 16; i++) {
                v[i] = (float)sum[t][16 * j + i];
                if (INT8) v[i] *= i % 2 ? factor[i / 4].y : factor[i / 4].x;
                v[i] += i % 2 ? bias[i / 4].y : bias[i / 4].x;
            }
            u32 h[8];
            uint4* mine = rest + (t * (CHANNELS / 16) + 2 * j) * 128;
            if (ADD) {
                uint4 low = mine[0], high = mine[128];
                u32 old[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
                for (int i = 0; i < 8; i++) {
                    float2 add = floats(old[i]);
                    v[2 * i] += add.x, v[2 * i + 1] += add.y;
                }
            }
#pragma unroll
            for (int i = 0; i < 16; i++)
                if (KEEP || !INT8) v[i] = fmaxf(v[i], 0.0f);
            if (KEEP || !INT8)
#pragma unroll
                for (int i = 0; i < 8; i++) h[i] = halves(v[2 * i], v[2 * i + 1]);
            if (KEEP) {
                mine[0] = make_uint4(h[0], h[1], h[2], h[3]);
                mine[128] = make_uint4(h[4], h[5], h[6], h[7]);
            }
            if (INT8) {
                if (KEEP)
#pragma unroll
                    for (int i = 0; i < 16; i++) v[i] *= i % 2 ? scale[i / 4].y : scale[i / 4].x;
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    int a = i / 2 * 8 + i % 2 * 2;  // rows 0-7 or 8-15 of channels 0-15 or 16-31
                    h[i] = rounded(v[a], v[a + 1], v[a + 4], v[a + 5]);
                }
                store_matrices(rows[t] + 2 * j * ROWS * 16, h[0], h[1], h[2], h[3]);
            } else {
                store_matrices(rows[t] + 4 * j * ROWS * 16, h[0], h[1], h[2], h[3]);
                store_matrices(rows[t] + (4 * j + 2) * ROWS * 16, h[4], h[5], h[6], h[7]);
            }
        }
    }
}

// The planes of these boards in half precision, and one more that is 1 on them.
DEVICE void read_boards(const float* x, const int* cells, char* act, int first, int batch, int thread) {
    for (int at = thread; at < BOARDS * PLACES; at += 128) {
        int b = at / PLACES, place = at % PLACES, cell = cells[place];
        if (cell < 0) continue;
        const float* from = x + (u64)(first + b) * PLANES * CELLS + cell;
        uint4* to = (uint4*)act + FIRST + place / WIDTH * LINE + b * PITCH + place % WIDTH;
        bool on = first + b < batch;
        float v[INPUTS];
#pragma unroll
        for (int p = 0; p < INPUTS; p++) v[p] = on && p < PLANES ? from[p * CELLS] : p == PLANES ? 1.0f : 0.0f;
#pragma unroll
        for (int k = 0; k < INPUTS / 8; k++)
            to[k * ROWS] = make_uint4(halves(v[8 * k], v[8 * k + 1]), halves(v[8 * k + 2], v[8 * k + 3]),
                                      halves(v[8 * k + 4], v[8 * k + 5]), halves(v[8 * k + 6], v[8 * k + 7]));
    }
}

// The heads' first layers, from the last activations, which the shortcut holds just as `wgmma` wants them.
DEVICE void write_heads(const uint4* rest, u32 weights, const float* bias, const int* cells, u16* policy,
                        u16* value, int first, int batch, int warp, int lane) {
#pragma unroll 1
    for (int t = 0; t < TILES; t++) {
        float sum[HEADS / 2] = {};
        uint4 left[CHANNELS / 16];
#pragma unroll
        for (int k = 0; k < CHANNELS / 16; k++) left[k] = rest[(t * (CHANNELS / 16) + k) * 128];
        mma_fence();
#pragma unroll
        for (int k = 0; k < CHANNELS / 16; k++)
            mma_heads(sum, left[k].x, left[k].y, left[k].z, left[k].w, matrix<128, HEADS * 16>(weights + k * HEADS * 32));
        mma_commit();
        mma_wait<0>();
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int row = t * 64 + warp * 16 + half * 8 + lane / 4, at = row / 8 * STEP + row % 8;
            int y = at / LINE, b = at % LINE / PITCH, x = at % PITCH;
            if (y >= HEIGHT || x >= WIDTH || first + b >= batch || cells[y * WIDTH + x] < 0) continue;
            u64 place = (u64)(first + b) * PLACES + y * WIDTH + x;
#pragma unroll
            for (int i = 0; i < HEADS / 4; i++) {
                int n = i / 2 * 8 + lane % 4 * 2 + i % 2;
                u16 v = (u16)halves(fmaxf(sum[i / 2 * 4 + half * 2 + i % 2] + bias[n], 0.0f), 0.0f);
                if (n < POLICY)
                    policy[place * POLICY + n] = v;
                else if (n < POLICY + VALUE)
                    value[place * VALUE + n - POLICY] = v;
            }
        }
    }
}

// `cells`: the cell at each place, -1 where there is none.
extern "C" __global__ void __launch_bounds__(128 * (WORKERS + 1), 1)
    tower(const float* x, const int* cells, const char* weights, const uint4* heads, const float* numbers, u16* policy,
          u16* value, u64 count) {
    const int batch = (int)count;
    extern __shared__ __align__(1024) char shared[];
    const int worker = threadIdx.x / 128, thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const u32 base = address(shared);
    Ring ring = {base, base + AT_BARRIERS, base + AT_BARRIERS + 8 * STAGES, 0, 0};
    for (int i = threadIdx.x; i < WORKERS * ACT_BYTES / 16; i += blockDim.x)
        ((uint4*)(shared + AT_ACT))[i] = make_uint4(0, 0, 0, 0);
    for (int i = threadIdx.x; i < HEAD_BYTES / 16; i += blockDim.x) ((uint4*)(shared + AT_HEAD))[i] = heads[i];
    for (int i = threadIdx.x; i < NUMBERS; i += blockDim.x) ((float*)(shared + AT_NUMBERS))[i] = numbers[i];
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(ring.full + 8 * i, 1);
            barrier_init(ring.empty + 8 * i, 4 * WORKERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    shared_to_async();
    __syncthreads();
    const int step = gridDim.x * WORKERS * BOARDS;

    if (worker == WORKERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (thread == 0) {
            ring.phase = 1;
            for (int group = blockIdx.x * WORKERS * BOARDS; group < batch; group += step) {
                const char* from = weights;
                for (int i = 0; i < 9 / TAPS * (1 + 2 * BLOCKS * SPLIT); i++) {
                    u32 bytes = i < 9 / TAPS ? STEM_STAGE : STAGE;
                    barrier_wait(ring.empty + 8 * ring.slot, ring.phase);
                    fetch(ring.stages + ring.slot * STAGE, from, bytes, ring.full + 8 * ring.slot);
                    from += bytes;
                    ring.next();
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        char* mine = shared + AT_ACT + worker * ACT_BYTES;
        const u32 act = base + AT_ACT + worker * ACT_BYTES, start = act + FIRST * 16;
        uint4* rest = (uint4*)(shared + AT_REST + worker * REST_BYTES) + thread;
        const float* layer = (const float*)(shared + AT_NUMBERS);
        u32 rows[TILES];  // where this lane's row of a matrix is stored
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            int row = t * 64 + warp * 16 + lane % 16, at = row / 8 * STEP + row % 8;
            bool cell = at / LINE < HEIGHT && at % PITCH < WIDTH && cells[at / LINE * WIDTH + at % PITCH] >= 0;
            rows[t] = act + ((cell ? FIRST + at : DUMP) + lane / 16 * ROWS) * 16;
        }
        for (int group = blockIdx.x * WORKERS * BOARDS; group < batch; group += step) {
            const int first = group + worker * BOARDS;
            read_boards(x, cells, mine, first, batch, thread);
            shared_to_async();
            together(worker);
            {
                float sum[TILES][CHANNELS / 2];
                convolve<true>(sum, ring, start, lane == 0);
                together(worker);
                finish<false, true>(sum, layer, rest, rows, lane);
                shared_to_async();
                together(worker);
            }
            Sum sum[TILES][CHANNELS / 2];
#pragma unroll 1
            for (int block = 0; block < BLOCKS; block++) {
                const float* now = layer + (2 * block + 1) * LAYER;
                convolve<false>(sum, ring, start, lane == 0);
                together(worker);
                finish<false, false>(sum, now, rest, rows, lane);
                shared_to_async();
                together(worker);
                convolve<false>(sum, ring, start, lane == 0);
                together(worker);
                finish<true, true>(sum, now + LAYER, rest, rows, lane);
                shared_to_async();
                together(worker);
            }
            write_heads(rest, base + AT_HEAD, layer + LAYERS * LAYER, cells, policy, value, first, batch,
                        warp, lane);
        }
    }
}
