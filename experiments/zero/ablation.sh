#!/bin/bash
# Four variants of the preset `strong` learn at the same time on one GPU, so that each has the same share of it, and then play
# each other. NVIDIA's Multi-Process Service should be running (nvidia-cuda-mps-control -d).
#   experiments/zero/ablation.sh GAME [FILE]        FILE: of a game of one's own, such as examples/draughts.py
set -e
game=$1 load=${2:+--load $2} out=runs/ablation-$1
gumbel='--set search.gumbel=true --set search.considered=16 --set selfplay.curriculum=[[0,16],[0.25,32],[0.6,64]]'
starts='--set search.random_share=0.4 --set search.random_plies=12'
learn() {
    meijin train $game zero $load --preset strong --device cuda --seconds 225 --out $out/$1 \
        --set training.optimizer=adamw --set training.rate=0.002 --set training.reuse=3 --set net.draw=0 \
        --set length.evaluate=0 --set length.keep=0 "${@:2}" --json > $out/$1.log
}
mkdir -p $out
learn base & learn gumbel $gumbel & learn starts $starts & learn both $gumbel $starts &
wait
{
    printf '[tournament]\nkind = "round_robin"\ngames = ["%s"]\nrounds = 20\nopenings = "random(plies=4)"\nanchor = "base"\n' $game
    for variant in base gumbel starts both; do
        printf '[[agents]]\nname = "%s"\nexpression = %s\n' $variant "'zero(\"$out/$variant\", simulations=64)'"
    done
    printf '[[agents]]\nname = "mcts"\nexpression = "mcts(simulations=1000)"\n'
} > $out/plan.toml
meijin tournament $out/plan.toml $load
