def expectation_maximization(*a):
    raise NotImplementedError
