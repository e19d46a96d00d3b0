// Package slice is what the standard library's slices has no word for: a list made of
// another one.
package slice

import "iter"

// Map is what f makes of each of a list, in its order; nil where the list is empty.
func Map[T, V any](list []T, f func(T) V) []V {
	if len(list) == 0 {
		return nil
	}
	out := make([]V, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// Filter is those of a list that keep lets through, in their order; nil: none. The list
// stays as it is.
func Filter[T any](list []T, keep func(T) bool) (out []T) {
	for _, x := range list {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// First is the first of a list that is so; the zero value where none is.
func First[T any](list []T, is func(T) bool) (first T) {
	for _, x := range list {
		if is(x) {
			return x
		}
	}
	return first
}

// Group is a list by key: each key with those that have it, in the order in which they come
// first.
func Group[T any, K comparable](list []T, key func(T) K) iter.Seq2[K, []T] {
	return func(yield func(K, []T) bool) {
		var order []K
		groups := map[K][]T{}
		for _, x := range list {
			k := key(x)
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], x)
		}
		for _, k := range order {
			if !yield(k, groups[k]) {
				return
			}
		}
	}
}
