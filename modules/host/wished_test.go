package host

import (
	"encoding/json"
	"testing"

	"weft/plan"
)

// linux is the host system of these tests, which TestMain brings: it builds on this
// package.
var linux func() *OS

// wished is a resource of a kind of linux, whose wish is JSON.
func wished(t *testing.T, d *Machine, kind, want string) plan.Resource {
	t.Helper()
	r, _ := ofKind(t, d, kind, want)
	return r
}

// seenAs is a state of a kind as it is read, from JSON and the interface it has.
func seenAs(t *testing.T, kind, state string) plan.State {
	t.Helper()
	_, s := ofKind(t, nil, kind, state)
	return s
}

func ofKind(t *testing.T, d *Machine, kind, text string) (plan.Resource, plan.State) {
	t.Helper()
	r, s, err := NewKindSet(linux().Kinds())[kind].(interface {
		fromJSON(*Machine, string) (plan.Resource, plan.State, error)
	}).fromJSON(d, text)
	if err != nil {
		t.Fatal(err)
	}
	return r, s
}

func (k *Kind[T]) fromJSON(d *Machine, text string) (plan.Resource, plan.State, error) {
	w := new(T)
	err := json.Unmarshal([]byte(text), w)
	return k.Want(d, w), w, err
}

// Linux says what linux is.
func Linux(os func() *OS) { linux = os }

// further are the other host systems.
var further []*OS

// Others says which they are.
func Others(list ...*OS) { further = list }

// tested are all host systems, and where the cases of their kinds are.
func tested() map[*OS]string {
	all := map[*OS]string{linux(): "../linux/*/testdata/"}
	for _, os := range further {
		all[os] = "../" + os.Name + "/testdata/"
	}
	return all
}
