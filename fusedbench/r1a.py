from bench import *
if __name__ == "__main__":
    main(plan({}, [100], ["f16"], ["othello"]), towers=["othello"])
