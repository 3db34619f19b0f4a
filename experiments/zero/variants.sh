#!/bin/bash
# Variants of a preset learn at the same time on one GPU, so that each has the same share of it, and then every two of them play
# 1,000 games. NVIDIA's Multi-Process Service should be running (nvidia-cuda-mps-control -d).
#   experiments/zero/variants.sh GAME LENGTH NAME[:SETTING,...]...            PRESET, DEVICE: strong, cuda
#   LOAD=examples/draughts.py experiments/zero/variants.sh draughts "--seconds 290" half int8:selfplay.dtype=int8
set -e
game=$1 length=$2 load=${LOAD:+--load $LOAD} out=runs/variants-$1 device=${DEVICE:-cuda}
mkdir -p "$out"
learning=()
nets=()
for variant in "${@:3}"; do
    name=${variant%%:*}
    settings=()
    if [ "$name" != "$variant" ]; then
        IFS=, read -ra changes <<< "${variant#*:}"
        for change in "${changes[@]}"; do settings+=(--set "$change"); done
    fi
    # shellcheck disable=SC2086 # several words each
    meijin train "$game" zero $load --preset "${PRESET:-strong}" --device "$device" $length --out "$out/$name" --set length.evaluate=0 \
        --set length.keep=0 "${settings[@]}" --json > "$out/$name.log" &
    learning+=($!)
    nets+=("$out/$name")
done
for process in "${learning[@]}"; do wait "$process"; done
# shellcheck disable=SC2086
python experiments/zero/duels.py "${nets[@]}" $load --games 1000 --device "$device"
