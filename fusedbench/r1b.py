from bench import *
if __name__ == "__main__":
    everything = list(TOWERS)
    jobs = plan({}, [512, 2048], ["f16", "s8", "e4m3"], everything)
    more = {"connect_four": [{"delay": 1000}, {"delay": 3000}, {"workers": 3}, {"workers": 4}, {"workers": 4, "boards": 4, "stages": 3}], "othello": [{"delay": 1000}, {"delay": 3000}, {"workers": 3}, {"workers": 4}], "go": [{"delay": 1500}, {"delay": 4000}, {"workers": 3}]}
    jobs += plan(more, [2048], ["f16", "s8"], everything)
    jobs += plan({}, [1024, 4096], ["f16", "s8"], everything)
    main(jobs, [512, 2048])
