package main

import (
	"errors"
	"net/netip"

	"weft/inventory"
)

// hollow says which targets of the lab carry no I/O: there is no lab.
func (f *fabric) hollow() func(*inventory.Target) string { return nil }

// labConfig finds no lab.
func labConfig(string) (string, error) { return "", errors.New("the lab does not run on Windows") }

// labPassword is nobody's.
const labPassword = ""

// labHosts has nothing to list.
func labHosts(string, *discoverFlags) error {
	return errors.New("the lab does not run on Windows")
}

// labVCenter finds none: there is no lab.
func (f *fabric) labVCenter(string) (at netip.AddrPort, sha256 string, err error) {
	return at, "", errors.New("the lab does not run on Windows")
}

// guests: there is no lab on Windows.
func (f *fabric) guests() bool { return false }
