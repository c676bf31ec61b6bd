//go:build !linux

package main

import "errors"

var errOnlyLinux = errors.New("only Linux can run a program without watches")

func withoutWatches(...string) (string, error) { return "", errOnlyLinux }

func takeWatches() error { return errOnlyLinux }
