"""Cases as the conformance command changes them: written back as text, brought into forms that more
libraries can express, and made smaller. Plain Python."""

import copy

from adapter import Array, Case, text_of_array, text_of_members

TRIPLES = ["factor", "lo", "hi", "kernel_size", "stride", "dilation"]
ROWS = ["source", "other", "target"]
ARRAYS = ["features", "weights", "bias", "grad_output"]


def written(case):
    """The text form. Maps and names are left out: no question here is about them."""
    words = ["case1", case.op]
    for name in TRIPLES:
        value = getattr(case, name)
        if value != getattr(Case, name):
            words.append("%s=%d,%d,%d" % (name, *value))
    words += ["%s=true" % name for name in ("transposed", "dense", "target_is_source")
              if getattr(case, name)]
    if case.type != "float64":
        words.append("type=" + case.type)
    for name in ROWS:
        if getattr(case, name) is not None:
            words.append("%s=%s" % (name, text_of_members(getattr(case, name))))
    if case.mask is not None:
        words.append("mask=" + ("".join("[%s]" % "".join(m) for m in case.mask) or "-"))
    if case.view is not None:
        words.append("view=" + (",".join(map(str, case.view)) or "-"))
    for name in ARRAYS:
        array = getattr(case, name)
        if array is not None:
            words.append("%s=%s" % (name, text_of_array(array.shape, array.values)))
    return " ".join(words)


def order(voxel):
    """The canonical order of [G-2]."""
    key = [c >> 12 for c in voxel]
    for shift, bits in ((7, 5), (3, 4), (0, 3)):
        key += [(c >> shift) & ((1 << bits) - 1) for c in voxel]
    return key


def canonical(voxels):
    return sorted(set(map(tuple, voxels)), key=order)


def resized(array, shape):
    """As many numbers as the shape needs: those that there are, over and over."""
    count = 1
    for n in shape:
        count *= n
    values = array.values or [1.0]
    return Array(shape, [values[i % len(values)] for i in range(count)])


def fitted(case):
    """Operands given the shapes that members, target and kernel ask for."""
    if case.weights is None:
        return case
    cout, cin = (case.weights.shape + [1, 1])[:2]
    rows = sum(len(m) for m in case.members())
    case.weights = resized(case.weights, [cout, cin, *case.kernel_size])
    case.features = resized(case.features, [rows, cin])
    if case.bias is not None:
        case.bias = resized(case.bias, [cout])
    if case.grad_output is not None:
        case.target = case.members() if case.target is None else case.target
        case.grad_output = resized(case.grad_output, [sum(map(len, case.target)), cout])
    return case


# --- forms that more libraries can express


def folded(case, width=24):
    """Voxels far apart brought into a box around 0, so that dense and narrow libraries have it."""
    case = copy.deepcopy(case)
    for name in ROWS:
        members = getattr(case, name)
        if members is not None:
            setattr(case, name, [canonical([[(c + 8) % width - 8 for c in v] for v in m])
                                 for m in members])
    case.mask = None if case.op == "refine" else case.mask
    return fitted(case)


def complete(case):
    """The library's own target [K-6]."""
    case = folded(case)
    if case.grad_output is None and case.op != "submanifold_index_map":
        case.target = None
    return fitted(case)


def submanifold(case):
    """Target and source the same, odd kernel, stride 1 [M-5]."""
    case = folded(case)
    case.kernel_size = tuple(min(k - 1 + k % 2, 5) for k in case.kernel_size)
    case.stride, case.transposed = (1, 1, 1), False
    case.dilation = (1, 1, 1) if sum(map(len, case.source)) % 2 else case.dilation
    if case.op in ("kernel_map", "convolution", "convolution_gradients"):
        case.target = copy.deepcopy(case.members())
    return fitted(case)


def cube(case):
    """A box around the voxel, as many libraries have no other."""
    case = folded(case)
    radius = 1 + sum(case.hi) % 3
    case.hi, case.lo = (radius,) * 3, (-radius,) * 3
    return case


def forms(case):
    """What is asked besides the case itself. A case that must be refused has no other form."""
    taps = case.kernel_size[0] * case.kernel_size[1] * case.kernel_size[2]
    if min(case.kernel_size) < 1 or taps > 4096:
        return []
    if case.op in ("dilate_box", "erode_box"):
        return [folded, cube]
    if case.op in ("kernel_map", "convolution", "convolution_gradients"):
        return [folded, complete, submanifold]
    if case.op == "submanifold_index_map":
        return [folded, submanifold]
    return [folded]


# --- smaller cases


def _without(case, name, change):
    smaller = copy.deepcopy(case)
    setattr(smaller, name, change(getattr(smaller, name)))
    return fitted(smaller)


def smaller(case):
    """Simpler cases, the boldest first; not all of them are legal."""
    for m in range(len(case.source)) if case.view is None else ():
        fewer = copy.deepcopy(case)
        for name in ROWS + ["mask"]:
            members = getattr(fewer, name)
            if members is not None and m < len(members):
                del members[m]
        yield fitted(fewer)
    if case.view is not None:
        plain = copy.deepcopy(case)
        plain.source, plain.view = copy.deepcopy(case.members()), None
        yield fitted(plain)
    for name in ["target", "bias"]:
        if getattr(case, name) is not None and case.grad_output is None:
            yield _without(case, name, lambda _: None)
    for name in ROWS:
        for m, member in enumerate(getattr(case, name) or ()):
            step = len(member)
            while step:
                for begin in range(0, len(member), step):
                    yield _without(case, name, lambda ms: [
                        [v for i, v in enumerate(x) if m != j or not begin <= i < begin + step]
                        for j, x in enumerate(ms)])
                step //= 2
    for name in ["kernel_size", "stride", "dilation", "factor", "hi"]:
        for axis, value in enumerate(getattr(case, name)):
            for less in sorted({1, value - 2, value - 1}):
                if 1 <= less < value:
                    yield _without(case, name, lambda t: t[:axis] + (less,) + t[axis + 1:])
    for axis in range(2) if case.weights is not None else ():
        if case.weights.shape[axis] > 1:
            yield _without(case, "weights", lambda w: resized(
                w, [n if a != axis else 1 for a, n in enumerate(w.shape)]))
    for axis in range(3):  # towards 0
        for name in ROWS:
            for m, member in enumerate(getattr(case, name) or ()):
                for i, voxel in enumerate(member):
                    for less in sorted({0, voxel[axis] // 2, voxel[axis] - 1}, key=abs):
                        if abs(less) < abs(voxel[axis]):
                            moved = voxel[:axis] + (less,) + voxel[axis + 1:]
                            yield _without(case, name, lambda ms: [
                                canonical(x[:i] + [moved] + x[i + 1:]) if j == m else x
                                for j, x in enumerate(ms)])
