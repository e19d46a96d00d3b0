//go:build !linux

package load

const directFlag = 0
