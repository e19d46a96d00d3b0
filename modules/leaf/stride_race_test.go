//go:build race

package leaf_test

// It divides neither 3 nor 4, so that as many of those that are cut have to converge.
const stride = 5
