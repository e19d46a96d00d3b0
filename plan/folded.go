package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A Folded plan is one whose devices and steps are still the text of its file, which is
// most of a large one. Who carries out a part of it needs memory for that text and the
// part, however many other devices there are.
type Folded struct {
	Head           *Plan  // all but devices and steps
	devices, steps []byte // JSON arrays, of the text
}

// ReadFolded reads what Write wrote. It refuses what ReadPlan refuses, but for what is
// wrong with devices and steps, which Part looks at.
func ReadFolded(text []byte) (*Folded, error) {
	f := &Folded{devices: []byte("[]"), steps: []byte("[]")}
	head := bytes.NewBufferString(`{"devices": [], "steps": []`)
	seen := map[string]bool{}
	err := members(text, func(name string, value []byte) error {
		if seen[name] {
			return fmt.Errorf("read plan: %s is there twice", name)
		}
		seen[name] = true
		switch name {
		case "devices":
			f.devices = value
		case "steps":
			f.steps = value
		default:
			key, err := json.Marshal(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(head, ", %s: %s", key, value)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	head.WriteString("}")
	if f.Head, err = ReadPlan(head); err != nil {
		return nil, err
	}
	if len(f.Head.Devices)+len(f.Head.Steps) > 0 { // other spellings of the two, which JSON takes for the same
		return nil, errors.New("read plan: devices or steps are there twice")
	}
	return f, nil
}

// Part is what Part of the whole plan is with the steps of some devices. Nothing is known
// afterwards of what other devices have in the plan, not even that it fits together: who
// carries the part out trusts that the plan is the one that was approved.
func (f *Folded) Part(keep func(device string) bool) (*Plan, error) {
	p := *f.Head
	p.Devices, p.Steps, p.Refusals = []PlannedDevice{}, nil, slices.Clone(p.Refusals)
	about := make(map[ID]bool, len(p.Refusals))
	for _, r := range p.Refusals {
		about[r.ID] = true
	}
	err := elements(json.NewDecoder(bytes.NewReader(f.devices)), func(text []byte) error {
		var d PlannedDevice
		if err := strictly(text, &d); err != nil {
			return err
		}
		if keep(d.Address) {
			p.Devices = append(p.Devices, d)
		}
		return nil
	})
	others := map[ID]bool{} // refused steps of other devices
	if err == nil {
		err = elements(json.NewDecoder(bytes.NewReader(f.steps)), func(text []byte) error {
			var which struct {
				ID ID `json:"id"`
			}
			if err := json.Unmarshal(text, &which); err != nil {
				return err
			}
			if !keep(which.ID.Device) {
				if about[which.ID] {
					others[which.ID] = true
				}
				return nil
			}
			var s fileStep
			if err := strictly(text, &s); err != nil {
				return err
			}
			s.Needs = slices.DeleteFunc(s.Needs, func(id ID) bool { return !keep(id.Device) })
			p.Steps = append(p.Steps, s.step())
			return nil
		})
	}
	if err == nil {
		err = p.checkFields()
	}
	if err == nil {
		_, err = p.stepGraph()
	}
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", brief(err))
	}
	p.Refusals = slices.DeleteFunc(p.Refusals, func(r Refusal) bool { return others[r.ID] })
	return p.Part(func(PlannedStep) bool { return true }), nil
}

// members walks over the members of a JSON object. Those that hold arrays are walked over
// as well, so that no more of the text than one of their elements is held a second time.
func members(text []byte, each func(name string, value []byte) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errNoPlan
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return noPlan(text, err)
		}
		begin := d.InputOffset()
		list := bytes.HasPrefix(bytes.TrimLeft(text[begin:], ": \t\r\n"), []byte("["))
		if list {
			err = elements(d, func([]byte) error { return nil })
		} else {
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return noPlan(text, err)
		}
		value := bytes.TrimLeft(text[begin:d.InputOffset()], ": \t\r\n")
		if err := each(name.(string), value); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return noPlan(text, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errFollowed
	}
	return nil
}

// elements walks over the elements of a JSON array.
func elements(d *json.Decoder, each func(text []byte) error) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errors.New("devices and steps are no lists")
	}
	var one json.RawMessage
	for d.More() {
		if err := d.Decode(&one); err != nil {
			return err
		}
		if err := each(one); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// strictly takes JSON apart that has no fields but known ones.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
