//go:build !race

package leaf_test

const stride = 1 // every line is cut
