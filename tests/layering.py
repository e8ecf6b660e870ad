#!/usr/bin/env python3
"""Rooms, and who may use whom: from the symbols of the objects of a build.

usage: tests/layering.py SOURCE BUILD

A room is a folder. What it uses is what its objects leave to others to define
(nm), and what its files include. Both must be in the table below, in which a
room may use only what stands above it: so no arrow goes back and none in a
circle. Arrows that do are listed by name, with the reason.
"""
import collections
import fnmatch
import json
import os
import re
import subprocess
import sys

ROOMS = []
