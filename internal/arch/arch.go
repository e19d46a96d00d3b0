// Package arch says who may import whom; its test holds the house to it.
package arch
