"""Sort like `numpy.argsort` of 2015 to 2022, including its order of equal values.

Its introsort is not stable, and the programs of those years depend on it: Nematus-TF forms
mini-batches by the order among sentences of equal length, and Nematus and DL4MT number words by the
order among words of equal frequency. Newer NumPy sorts with vector instructions, which order equal
values differently from machine to machine.
"""

from collections.abc import Sequence

SMALL = 15  # partitions of up to SMALL + 1 values are sorted by insertion


def argsort(values: Sequence[int]) -> list[int]:
    """Indices that sort the values, with ties in the order of NumPy 1.x's quicksort.

    It uses the median of three, and sorts the larger partition later. It lacks NumPy's fallback to
    heapsort after many partitions, which lengths of lines and frequencies of words do not need.
    """
    keys, order = list(values), list(range(len(values)))

    def swap(i: int, j: int) -> None:
        keys[i], keys[j] = keys[j], keys[i]
        order[i], order[j] = order[j], order[i]

    partitions = [(0, len(keys) - 1)]
    while partitions:
        left, right = partitions.pop()
        while right - left > SMALL:
            middle = left + (right - left) // 2
            if keys[middle] < keys[left]:
                swap(middle, left)
            if keys[right] < keys[middle]:
                swap(right, middle)
            if keys[middle] < keys[left]:
                swap(middle, left)
            pivot = keys[middle]
            i, j = left, right - 1
            swap(middle, j)
            while True:
                i += 1
                while keys[i] < pivot:
                    i += 1
                j -= 1
                while pivot < keys[j]:
                    j -= 1
                if i >= j:
                    break
                swap(i, j)
            swap(i, right - 1)
            if i - left < right - i:
                partitions.append((i + 1, right))
                right = i - 1
            else:
                partitions.append((left, i - 1))
                left = i + 1
        for i in range(left + 1, right + 1):
            while i > left and keys[i] < keys[i - 1]:
                swap(i, i - 1)
                i -= 1
    return order
