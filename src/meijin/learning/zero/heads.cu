// From what the first layers of the heads say to the logits and values, in float32, so many boards a block.
//
// From outside come, as macros: BOARDS (of a block), CELLS (places, holes included), POLICY, VALUE (channels), FLAT
// (whether the logits are a linear layer over all places, rather than KINDS planes and WORDS pooled numbers), MOVES,
// HIDDEN, SEATS, BOUNDED (values by tanh, or in units). `wide` holds the large matrices in half precision, `narrow` the
// rest; `index` says where each move's logit is.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;

constexpr int THREADS = 256, WARPS = THREADS / 32;
constexpr int LEFT = CELLS * POLICY, RIGHT = CELLS * VALUE;
constexpr int LOGITS = FLAT ? MOVES : CELLS * KINDS + WORDS;

__device__ __forceinline__ float number(u16 h) {
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(h));
    return r;
}

// A linear layer of all boards: a warp for each of its outputs.
template <int INPUTS, int OUTPUTS, bool RELU>
__device__ __forceinline__ void linear(const u16* weights, const float* bias, const float (*in)[INPUTS],
                                       float (*out)[OUTPUTS]) {
    const int lane = threadIdx.x % 32;
    for (int n = threadIdx.x / 32; n < OUTPUTS; n += WARPS) {
        float sum[BOARDS] = {};
#pragma unroll 4
        for (int i = lane; i < INPUTS; i += 32) {
            float w = number(weights[n * INPUTS + i]);
#pragma unroll
            for (int b = 0; b < BOARDS; b++) sum[b] += w * in[b][i];
        }
#pragma unroll
        for (int b = 0; b < BOARDS; b++) {
#pragma unroll
            for (int by = 16; by; by /= 2) sum[b] += __shfl_xor_sync(~0u, sum[b], by);
            sum[b] += bias[n];
            if (lane == b) out[b][n] = RELU ? fmaxf(sum[b], 0.0f) : sum[b];
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    heads(const u16* policy, const u16* value, const u16* wide, const float* narrow, const int* index, float* logits,
          float* values, u64 count) {
    __shared__ float left[BOARDS][LEFT], right[BOARDS][RIGHT], hidden[BOARDS][HIDDEN], found[BOARDS][LOGITS];
    const int first = blockIdx.x * BOARDS, boards = min(BOARDS, (int)count - first);
    for (int i = threadIdx.x; i < BOARDS * LEFT; i += THREADS)
        left[0][i] = i < boards * LEFT ? number(policy[(u64)first * LEFT + i]) : 0.0f;
    for (int i = threadIdx.x; i < BOARDS * RIGHT; i += THREADS)
        right[0][i] = i < boards * RIGHT ? number(value[(u64)first * RIGHT + i]) : 0.0f;
    __syncthreads();
    linear<RIGHT, HIDDEN, true>(wide, narrow, right, hidden);
    wide += HIDDEN * RIGHT;
    narrow += HIDDEN;
#if FLAT
    linear<LEFT, MOVES, false>(wide, narrow, left, found);
    narrow += MOVES;
#else
    for (int at = threadIdx.x; at < BOARDS * CELLS; at += THREADS) {
        int b = at / CELLS, cell = at % CELLS;
        for (int k = 0; k < KINDS; k++) {
            float sum = narrow[KINDS * POLICY + k];
            for (int i = 0; i < POLICY; i++) sum += narrow[k * POLICY + i] * left[b][cell * POLICY + i];
            found[b][cell * KINDS + k] = sum;
        }
    }
    narrow += KINDS * (POLICY + 1);
#if WORDS
    // A warp for each board: the mean and the largest of each channel, by factors.
    const int lane = threadIdx.x % 32;
    for (int b = threadIdx.x / 32; b < BOARDS; b += WARPS) {
        float sums[WORDS] = {};
        for (int i = 0; i < POLICY; i++) {
            float mean = 0.0f, most = 0.0f;  // nothing is below 0 here
            for (int cell = lane; cell < CELLS; cell += 32) {
                float v = left[b][cell * POLICY + i];
                mean += v, most = fmaxf(most, v);
            }
#pragma unroll
            for (int by = 16; by; by /= 2) {
                mean += __shfl_xor_sync(~0u, mean, by);
                most = fmaxf(most, __shfl_xor_sync(~0u, most, by));
            }
            for (int w = 0; w < WORDS; w++)
                sums[w] += narrow[2 * POLICY * w + i] * mean + narrow[2 * POLICY * w + POLICY + i] * most;
        }
        for (int w = 0; w < WORDS; w++)
            if (lane == 0) found[b][CELLS * KINDS + w] = sums[w] + narrow[2 * POLICY * WORDS + w];
    }
    narrow += WORDS * (2 * POLICY + 1);
#endif
#endif
    __syncthreads();
    for (int i = threadIdx.x; i < boards * MOVES; i += THREADS)
        logits[(u64)first * MOVES + i] = found[i / MOVES][FLAT ? i % MOVES : index[i % MOVES]];
    for (int i = threadIdx.x; i < boards * SEATS; i += THREADS) {
        int b = i / SEATS, seat = i % SEATS;
        float sum = narrow[SEATS * HIDDEN + seat];
        for (int n = 0; n < HIDDEN; n++) sum += narrow[seat * HIDDEN + n] * hidden[b][n];
        const float* units = narrow + SEATS * (HIDDEN + 1);
        values[(u64)first * SEATS + i] = BOUNDED ? tanhf(sum) : units[0] + units[1] * sum;
    }
}
