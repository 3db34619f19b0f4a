#!/bin/bash
# What is Muon worth, and do games that nets in 8-bit integers play teach as much? Three variants of the preset `strong` learn
# from equal numbers of positions in as many steps, at the same time on one GPU, and then play each other.
#   experiments/zero/learners.sh GAME [FILE]        FILE: of a game of one's own, such as examples/draughts.py
set -e
game=$1 load=${2:+--load $2} out=runs/learners-$1
learn() {
    meijin train $game zero $load --preset strong --device cuda --iterations ${ITERATIONS:-60} --out $out/$1 --set net.draw=0 \
        --set training.reuse=3 --set length.evaluate=0 --set length.keep=0 "${@:2}" --json > $out/$1.log
}
muon='--set training.optimizer=muon --set training.rate=0.01'
mkdir -p $out
learn adamw --set training.optimizer=adamw --set training.rate=0.002 & one=$!
learn muon $muon & two=$!
learn int8 $muon --set selfplay.dtype=int8 & three=$!
wait $one && wait $two && wait $three
python experiments/zero/duels.py $out/adamw $out/muon $out/int8 $load --games 1000 --device cuda
