package main

import "context"

func batch(ctx context.Context, s streams) error { return nil }
