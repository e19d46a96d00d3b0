// Package flock locks files among processes.
package flock
